import { NS_PER_S, NS_PER_US, nsToMs } from '#base/units.ts';
import type { ClientTimeSums } from '#loadgen/client-times.ts';
import type { SendTally } from '#loadgen/open-loop.ts';
import { timesInterval } from '#stats/interval.ts';
import type { ClientTimesUs } from '../client-figures.ts';
import { httpReplies } from '../http-replies.ts';
import { latencyPercentiles, latencySummary } from '../latency-summary.ts';
import type { LevelOptions } from '../level-options.ts';
import type { CountedTimeMs, Measurement, OpenLoopFigures } from '../measurement.ts';
import { findTokens } from '../tokens-of.ts';
import { computeBadShare, computeGoodRate, summarizeClasses } from '../windows/class-figures.ts';
import { percentileRangeMs } from '../windows/figures.ts';
import type { WindowsOutcome } from '../windows/outcome.ts';

/** Figures of the requests of one front. */
export type OwnFigures = Omit<
  Measurement,
  | ('device' | 'client' | 'hostWorkUs' | 'foreignRequests' | 'foreignByModel' | 'fronts')
  | ('budgetVerdict' | 'server' | 'serverNote' | 'composing')
>;

/** Further figures of the same requests. */
export interface SentFigures {
  /** null in a closed loop, as is the tally. */
  readonly paced: OpenLoopFigures | null;
  readonly tally: SendTally | null;
}

/** Returns the figures of the counted windows. */
export function ownFigures(options: LevelOptions, figures: WindowsOutcome, { paced, tally }: SentFigures): OwnFigures {
  const { failures } = figures;
  const requests = figures.succeeded + figures.failed;
  const dropped = paced?.droppedSends ?? 0;
  const windowPercentilesMs = percentileRangeMs(figures.ofEach, options.percentile);
  const goodput = computeGoodRate(figures, options);
  const badShare = computeBadShare(figures);
  const classes = summarizeClasses(figures, options, tally && countedDrops(tally, figures));
  const tokens = findTokens(figures, options, goodput);
  return {
    level: options.level,
    throughput: timesInterval(figures.rate, options.requests.batch),
    ...(goodput && { goodput }),
    ...(badShare && { badShare }),
    ...(classes && { classes }),
    latencyMs: latencySummary(figures.latencies),
    ...(options.percentiles && { latencyPercentilesMs: latencyPercentiles(figures.latencies, options.percentiles) }),
    budgetLatencyMs: { percentile: options.percentile, ...figures.percentileMs },
    ...(windowPercentilesMs && { windowPercentilesMs }),
    // The few that succeed among failures say nothing of the model.
    stable: figures.stable && figures.failed <= figures.succeeded,
    windows: figures.windows,
    ...(figures.coldWindows > 0 && { coldWindows: figures.coldWindows }),
    ...(figures.voidWindows > 0 && { voidWindows: figures.voidWindows }),
    durationMs: nsToMs(figures.durationNs),
    requests,
    ...(figures.responses > 0 && { responses: figures.responses }),
    ...(options.sequences && { sequences: figures.sequences }),
    sendRate: figures.durationNs > 0 ? (figures.sent / figures.durationNs) * NS_PER_S : 0,
    failures: dropped > 0 ? [...failures, { kind: 'dropped', count: dropped, firstMessage: DROPPED }] : failures,
    errorRate: requests === 0 ? 1 : (figures.failed + dropped) / (requests + dropped),
    ...(figures.clientTimes && { clientTimes: meanTimes(figures.clientTimes) }),
    ...(paced && { openLoop: paced }),
    ...(tokens && { tokens }),
    ...(figures.replies && {
      replies: httpReplies(figures.replies, figures.fromDue ?? figures.latencies, options.requests.batch),
    }),
  };
}

const DROPPED = 'not sent when it was due: too many requests were in flight';

/**
 * Returns the share of the tally's requests that were sent in counted windows; the others were in
 * windows that were dropped.
 */
function countedPart(tally: SendTally, { coldWindows, voidWindows, sent }: WindowsOutcome): number {
  return coldWindows + voidWindows === 0 ? 1 : Math.min(1, sent / Math.max(tally.sent, 1));
}

const countedDrops = (tally: SendTally, figures: WindowsOutcome): readonly number[] =>
  tally.droppedOf.map((count) => Math.round(count * countedPart(tally, figures)));

/**
 * Returns the figures of an open loop over `seconds`, whose schedule began at `startNs`; null in a
 * closed loop, which has no tally.
 */
export function pacedFigures(
  tally: SendTally | null,
  figures: WindowsOutcome,
  seconds: number,
  startNs: number | null,
): OpenLoopFigures | null {
  if (tally === null) return null;
  const part = countedPart(tally, figures);
  return {
    scheduledLatencyMs: latencySummary(figures.fromDue ?? figures.latencies),
    lateSends: Math.round(tally.late * part),
    droppedSends: Math.round(tally.dropped * part),
    sendLatenessP50Us: tally.lateness.quantileNs(0.5) / NS_PER_US,
    achievedRate: seconds > 0 ? tally.sent / seconds : 0,
    ...(startNs !== null && { countedMs: countedMs(figures, startNs) }),
  };
}

/** Returns the counted times since `startNs`, joined where nothing was dropped between them. */
function countedMs({ batches }: Pick<WindowsOutcome, 'batches'>, startNs: number): readonly CountedTimeMs[] {
  const times: { from: number; to: number }[] = [];
  for (const batch of batches) {
    const [from, to] = [nsToMs(batch.startNs - startNs), nsToMs(batch.endNs - startNs)];
    const last = times.at(-1);
    if (last?.to === from) last.to = to;
    else times.push({ from, to });
  }
  return times;
}

/** Returns the means per request. */
export function meanTimes({ requests, ...sums }: ClientTimeSums): ClientTimesUs {
  const meanUs = (sumNs: number): number => sumNs / requests / NS_PER_US;
  return {
    requests,
    marshalUs: meanUs(sums.marshalNs),
    sendUs: meanUs(sums.sendNs),
    waitUs: meanUs(sums.waitNs),
    receiveUs: meanUs(sums.receiveNs),
    unmarshalUs: meanUs(sums.unmarshalNs),
  };
}
