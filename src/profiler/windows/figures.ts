import { NS_PER_S, nsToMs } from '#base/units.ts';
import { allClientTimes, type ClientTimeSums } from '#loadgen/client-times.ts';
import { allFailures, type FailureTally } from '#loadgen/failure-tally.ts';
import { allReplies, type ReplyTally } from '#loadgen/plain-http-tally.ts';
import type { Batch } from '#loadgen/recorder.ts';
import { rateInterval, shareInterval } from '#stats/batch-means.ts';
import { LatencyHistogram } from '#stats/histogram.ts';
import type { Interval } from '#stats/interval.ts';
import { quantileInterval } from '#stats/quantile-interval.ts';
import type { LevelOptions } from '../level-options.ts';

/**
 * A batch, and how many requests had been due when it began and ended; null if unknown, or if
 * requests have no due time.
 */
export interface CountedBatch extends Batch {
  readonly dueAtStart: number | null;
  readonly dueAtEnd: number | null;
}

/** Figures of the counted windows. */
export interface WindowedFigures {
  readonly windows: number;
  readonly durationNs: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly failures: readonly FailureTally[];
  /** As in a batch. */
  readonly responses: number;
  readonly sequences: number;
  /** Latencies of the successful requests, from their sending. */
  readonly latencies: LatencyHistogram;
  /** Latencies from the due time of the requests; null in a closed loop. */
  readonly fromDue: LatencyHistogram | null;
  /** As in a batch. */
  readonly clientTimes?: ClientTimeSums | undefined;
  readonly replies: ReplyTally | undefined;
  /** Successful requests per second. */
  readonly rate: Interval;
  /** From the due time, if there is one. */
  readonly percentileMs: Interval;
}

/** Sums of the latencies of several batches. */
export class LatencySums {
  readonly latencies = new LatencyHistogram();
  readonly fromDue = new LatencyHistogram();

  add(batch: Pick<Batch, 'latencies' | 'fromDue'>): void {
    this.latencies.merge(batch.latencies);
    if (batch.fromDue) this.fromDue.merge(batch.fromDue);
  }
}

/**
 * Returns the lowest and the highest percentile, such as 99, of the windows with latencies, in
 * milliseconds; null if there are none.
 */
export function percentileRangeMs(
  windows: readonly LatencySums[],
  percentile: number,
): Pick<Interval, 'low' | 'high'> | null {
  const percentiles = windows
    .map(({ latencies, fromDue }) => (fromDue.count > 0 ? fromDue : latencies))
    .filter(({ count }) => count > 0)
    .map((latencies) => nsToMs(latencies.quantileNs(percentile / 100)));
  return percentiles.length === 0 ? null : { low: Math.min(...percentiles), high: Math.max(...percentiles) };
}

export function addSums(batches: readonly Batch[]): LatencySums {
  const sums = new LatencySums();
  for (const batch of batches) sums.add(batch);
  return sums;
}

/**
 * Returns the figures of consecutive batches, between which windows may have been dropped; `sums`
 * covers all of them.
 */
export function summarizeFigures(
  batches: readonly CountedBatch[],
  { latencies, fromDue }: LatencySums,
  windows: number,
  options: RateQuestion & Pick<LevelOptions, 'percentile'>,
): WindowedFigures {
  const scheduled = fromDue.count > 0;
  const histograms = batches.map((batch) => batch.fromDue ?? batch.latencies);
  return {
    windows,
    durationNs: batches.reduce((total, { startNs, endNs }) => total + endNs - startNs, 0),
    succeeded: latencies.count,
    failed: batches.reduce((total, batch) => total + batch.failed, 0),
    failures: allFailures(batches.map(({ failures }) => failures)),
    responses: batches.reduce((total, batch) => total + batch.responses, 0),
    sequences: batches.reduce((total, batch) => total + batch.sequences, 0),
    latencies,
    clientTimes: allClientTimes(batches),
    fromDue: scheduled ? fromDue : null,
    replies: allReplies(batches),
    rate: computeRate(batches, ({ succeeded }) => succeeded, options),
    percentileMs: inMs(quantileInterval(histograms, scheduled ? fromDue : latencies, options.percentile / 100)),
  };
}

interface Paced {
  readonly count: number;
  readonly due: number;
}

/** Options that determine rates. */
type RateQuestion = Pick<LevelOptions, 'level' | 'stability'>;

/**
 * Returns the rate per second of the requests that `count` counts, over consecutive batches. In
 * an open loop, the interval rule takes the share of the due requests times the requested rate:
 * random arrivals vary from batch to batch, which is not a property of the server. A share above
 * one is an earlier backlog, and cannot last.
 */
export function computeRate(
  batches: readonly CountedBatch[],
  count: (batch: CountedBatch) => number,
  rate: RateQuestion,
): Interval {
  const paced = isPaced(rate) ? batches.flatMap((batch) => inPace(batch, count)) : [];
  if (paced.length > 0) return writable(pacedRate(paced, rate.level.value));
  return writable(
    rateInterval(
      batches.map(count),
      batches.map(({ startNs, endNs }) => (endNs - startNs) / NS_PER_S),
    ),
  );
}

/**
 * Returns the same rate for a part of the requests, such as those of a class. If an earlier backlog
 * let more requests end than were due, all parts are scaled down alike, so that they add up to the
 * total.
 */
export function computePartRate(
  batches: readonly CountedBatch[],
  count: (batch: CountedBatch) => number,
  rate: RateQuestion,
): Interval {
  const all = batches.flatMap((batch) => inPace(batch, ({ succeeded, failed }) => succeeded + failed));
  const [ended, due] = [computeSum(all.map(({ count }) => count)), computeSum(all.map((each) => each.due))];
  const scale = isPaced(rate) && ended > due ? due / ended : 1;
  return computeRate(batches, (batch) => count(batch) * scale, rate);
}

const computeSum = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

/** perf_analyzer's rules count the replies, however many were due. */
const isPaced = ({ stability }: RateQuestion): boolean =>
  stability === undefined || stability.kind === 'interval' || stability.kind === 'passes';

/** The number of due requests is unknown in the very first batch. */
function inPace(batch: CountedBatch, count: (batch: CountedBatch) => number): readonly Paced[] {
  const { dueAtStart, dueAtEnd } = batch;
  return dueAtStart === null || dueAtEnd === null ? [] : [{ count: count(batch), due: dueAtEnd - dueAtStart }];
}

function pacedRate(paced: readonly Paced[], perSecond: number): Interval {
  const share = shareInterval(
    paced.map(({ count }) => count),
    paced.map(({ due }) => due),
  );
  const atMostAll = (part: number): number => Math.min(part, 1) * perSecond;
  return { value: atMostAll(share.value), low: atMostAll(share.low), high: atMostAll(share.high) };
}

/** A single batch has no interval; ±100 % replaces Infinity, which a journal cannot hold. */
export const writable = (interval: Interval): Interval =>
  Number.isFinite(interval.high) ? interval : { value: interval.value, low: 0, high: 2 * interval.value };

export const inMs = (interval: Interval): Interval => ({
  value: nsToMs(interval.value),
  low: nsToMs(interval.low),
  high: nsToMs(interval.high),
});
