import { nsToMs } from '#base/units.ts';
import { allFailures } from '#loadgen/failure-tally.ts';
import { LatencyHistogram } from '#stats/histogram.ts';
import { type Interval, meanOfIntervals, sumOfIntervals } from '#stats/interval.ts';
import { mixedQuantileInterval } from '#stats/quantile-interval.ts';
import { addedBreakdowns } from '../added-breakdowns.ts';
import type { ClientTimesUs } from '../client-figures.ts';
import { latencyPercentiles, latencySummary } from '../latency-summary.ts';
import type { LevelOptions } from '../level-options.ts';
import type { Measurement, OpenLoopFigures } from '../measurement.ts';
import type { ServerBreakdown } from '../server-figures.ts';
import type { FrontResult } from './measure-front.ts';
import type { OwnFigures } from './own-figures.ts';

type ServerSide = Pick<Measurement, 'server' | 'serverNote'>;

/**
 * Returns the server's figures of all fronts together: means over their requests, and counts scaled
 * to the same length of time. Has no batch sizes, because executions of different models have none
 * in common. null, with the reason, if the figures of one front are null.
 */
function wholeServer(fronts: readonly (FrontResult & { readonly times: number })[]): ServerSide {
  const servers: ServerBreakdown[] = [];
  for (const { frontFigures: own, options, times } of fronts) {
    if (own.server === null) {
      const { serverNote } = own;
      return {
        server: null,
        ...(serverNote !== undefined && { serverNote: `${options.requests.model}: ${serverNote}` }),
      };
    }
    servers.push(countedTimes(own.server, times));
  }
  return { server: addedBreakdowns(servers) };
}

function countedTimes(server: ServerBreakdown, times: number): ServerBreakdown {
  const count = (each: number): number => Math.round(each * times);
  const { cache } = server;
  return {
    ...server,
    successCount: count(server.successCount),
    inferenceCount: count(server.inferenceCount),
    executionCount: count(server.executionCount),
    failCount: count(server.failCount),
    cache: { ...cache, hitCount: count(cache.hitCount), missCount: count(cache.missCount) },
  };
}

/** Options of the whole measurement. */
export type WholeAsked = Pick<LevelOptions, 'level' | 'percentile' | 'percentiles'>;

/** The figures of all fronts together, without the devices, the host and the client. */
export type WholeFigures = OwnFigures & Pick<Measurement, 'server' | 'serverNote'>;

/** A front, and how often its requests count, so that all fronts cover the same length of time. */
interface Part extends FrontResult {
  readonly times: number;
}

/**
 * Returns the figures of all requests of several fronts together. Throughputs add up. The latencies
 * of a front that was counted for a shorter time count more often, so that each front weighs by its
 * rate. If one front is a closed loop, latencies at a fixed rate count from the due time. The error
 * rate is the highest of the fronts', so that a failing model does not hide behind one with more
 * requests.
 */
export function toWhole(fronts: readonly FrontResult[], { level, percentile, percentiles }: WholeAsked): WholeFigures {
  const longestNs = Math.max(...fronts.map(({ figures }) => figures.durationNs));
  const parts = fronts.map((front): Part => {
    const { durationNs } = front.figures;
    return { ...front, times: durationNs > 0 ? longestNs / durationNs : 1 };
  });
  const isPaced = level.mode === 'request-rate';
  const seen = merged(parts, ({ figures }) => figures.fromDue ?? figures.latencies);
  const latencies = isPaced ? merged(parts, ({ figures }) => figures.latencies) : seen;
  const ownWindows = fronts.map((front) => front.frontFigures);
  const windowPercentilesMs = windowRange(parts, percentile);
  const goodputs = ownWindows.flatMap(({ goodput }) => goodput ?? []);
  const classes = fronts.flatMap(({ frontFigures: own, options }) =>
    (own.classes ?? []).map((each) => ({ ...each, model: options.requests.model })),
  );
  const clientTimes = ownWindows.flatMap((each) => each.clientTimes ?? []);
  return {
    level,
    throughput: sumOfIntervals(ownWindows.map(({ throughput }) => throughput)),
    ...(goodputs.length > 0 && { goodput: sumOfIntervals(goodputs) }),
    ...wholeBadShare(parts),
    ...(classes.length > 0 && { classes }),
    latencyMs: latencySummary(latencies),
    ...(percentiles && { latencyPercentilesMs: latencyPercentiles(latencies, percentiles) }),
    budgetLatencyMs: { percentile, ...computePercentile(parts, seen, percentile) },
    ...(windowPercentilesMs && { windowPercentilesMs }),
    stable: ownWindows.every(({ stable }) => stable),
    ...(ownWindows.some(({ tooManyErrors }) => tooManyErrors) && { tooManyErrors: true as const }),
    windows: Math.min(...ownWindows.map(({ windows }) => windows)),
    ...sumField(ownWindows, 'coldWindows'),
    ...sumField(ownWindows, 'voidWindows'),
    durationMs: nsToMs(longestNs),
    requests: sumOver(ownWindows, ({ requests }) => requests),
    ...sumField(ownWindows, 'responses'),
    ...sumField(ownWindows, 'sequences'),
    sendRate: sumOver(ownWindows, ({ sendRate }) => sendRate),
    failures: allFailures(ownWindows.map(({ failures }) => failures)),
    errorRate: Math.max(...ownWindows.map(({ errorRate }) => errorRate)),
    ...wholeServer(parts),
    ...(clientTimes.length > 0 && { clientTimes: computeMean(clientTimes) }),
    ...(isPaced && { openLoop: combinePaced(ownWindows, seen) }),
  };
}

const sumOver = <T>(all: readonly T[], of: (each: T) => number): number =>
  all.reduce((total, each) => total + of(each), 0);

/** Absent if no front has it. */
function sumField<K extends 'coldWindows' | 'voidWindows' | 'responses' | 'sequences'>(
  allFigures: readonly OwnFigures[],
  field: K,
): { readonly [F in K]?: number } {
  const known = allFigures.flatMap((each) => each[field] ?? []);
  return known.length === 0 ? {} : ({ [field]: sumOver(known, (count) => count) } as { readonly [F in K]?: number });
}

function merged(parts: readonly Part[], summarizeLatencies: (part: Part) => LatencyHistogram): LatencyHistogram {
  const all = new LatencyHistogram();
  for (const part of parts) all.mergeTimes(summarizeLatencies(part), part.times);
  return all;
}

/** Each front weighs by its answered requests. Absent if not all fronts have limits. */
function wholeBadShare(parts: readonly Part[]): Pick<Measurement, 'badShare'> {
  const shares = parts.flatMap(({ frontFigures: { badShare } }) => badShare ?? []);
  const answered = parts.map(({ frontFigures: own, times }) => own.requests * times);
  const isKnown = shares.length === parts.length && answered.some((count) => count > 0);
  return isKnown ? { badShare: meanOfIntervals(shares, answered) } : {};
}

function computePercentile(parts: readonly Part[], seen: LatencyHistogram, percentile: number): Interval {
  const streams = parts.map(({ figures, times }) => ({
    batches: figures.batches.map((batch) => batch.fromDue ?? batch.latencies),
    share: seen.count === 0 ? 0 : (figures.succeeded * times) / seen.count,
  }));
  const { value, low, high } = mixedQuantileInterval(streams, seen, percentile / 100);
  return { value: nsToMs(value), low: nsToMs(low), high: nsToMs(high) };
}

/**
 * Returns the lowest and highest percentile of the combined windows: the first window of each front
 * together, the second, and so on.
 */
function windowRange(parts: readonly Part[], percentile: number): Measurement['windowPercentilesMs'] {
  const windows = Math.min(...parts.map(({ figures }) => figures.ofEach.length));
  const percentiles = Array.from({ length: windows }, (_, window) =>
    merged(parts, ({ figures }) => {
      const { latencies, fromDue } = figures.ofEach[window] as (typeof figures.ofEach)[number];
      return fromDue.count > 0 ? fromDue : latencies;
    }),
  )
    .filter(({ count }) => count > 0)
    .map((latencies) => nsToMs(latencies.quantileNs(percentile / 100)));
  return percentiles.length === 0 ? undefined : { low: Math.min(...percentiles), high: Math.max(...percentiles) };
}

/** Returns means over the requests of all samples. */
function computeMean(times: readonly ClientTimesUs[]): ClientTimesUs {
  const requests = sumOver(times, (each) => each.requests);
  const mean = (of: (each: ClientTimesUs) => number): number =>
    sumOver(times, (each) => of(each) * each.requests) / requests;
  return {
    requests,
    marshalUs: mean(({ marshalUs }) => marshalUs),
    sendUs: mean(({ sendUs }) => sendUs),
    waitUs: mean(({ waitUs }) => waitUs),
    receiveUs: mean(({ receiveUs }) => receiveUs),
    unmarshalUs: mean(({ unmarshalUs }) => unmarshalUs),
  };
}

/** The lateness is that of the front with the latest sends. */
function combinePaced(allFigures: readonly OwnFigures[], seen: LatencyHistogram): OpenLoopFigures {
  const paced = allFigures.flatMap(({ openLoop }) => openLoop ?? []);
  return {
    scheduledLatencyMs: latencySummary(seen),
    lateSends: sumOver(paced, ({ lateSends }) => lateSends),
    droppedSends: sumOver(paced, ({ droppedSends }) => droppedSends),
    sendLatenessP50Us: Math.max(...paced.map(({ sendLatenessP50Us }) => sendLatenessP50Us)),
    achievedRate: sumOver(paced, ({ achievedRate }) => achievedRate),
  };
}
