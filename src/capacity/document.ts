import type { Measurement } from '#profiler/measurement.ts';
import { replicasNeeded } from '#stats/replicas.ts';
import type { CapacityDocument } from './document-schema.ts';
import { type Hardware, hardwareFigures, whyNoCost } from './hardware.ts';
import type { CourseWindow } from './loads.ts';
import { recoveredAfter } from './posterior/recovery.ts';
import type { CapacityQuestion } from './question.ts';
import { isEstimate, isKept, type RateReading } from './reading.ts';
import { refusalsIn } from './refusals.ts';
import { type CapacityState, listReadings } from './state.ts';
import { cutText, shareText } from './words.ts';

/** The part of the document that precedes the figures. */
export type CapacityHead = Pick<
  CapacityDocument,
  'trituneVersion' | 'model' | 'server' | 'protocol' | 'arrivals' | 'commandLine' | 'assumptions'
>;

/** How a run went. */
export interface CapacityRunEnd {
  readonly wasInterrupted: boolean;
  readonly seconds: number;
  readonly hardware: Hardware;
}

type Point = CapacityDocument['cliff'][number];
type PlainPoint = Omit<Point, 'factor' | 'growthMsPerSecond'>;

/** The document mentions a host whose speed changed by more than this factor. */
const TOLD = 1.15;

/**
 * A kept rate at this multiple of a missed rate. Chance alone does not explain it; something other
 * than the server does. In a workload the luck of a pass may.
 */
const CONTRADICTORY = 1.2;
const DISTURBED =
  'the limit was missed at rates far below others that met it: something else disturbed the machine; measure again when it is quiet';

/** Returns the document of a run, finished or not. */
export function capacityDocument(
  head: CapacityHead,
  question: CapacityQuestion,
  state: CapacityState,
  end: CapacityRunEnd,
): CapacityDocument {
  const { limit, batch, precision, mostSeconds } = question;
  const readings = listReadings(state, question);
  const kept = readings.filter((reading) => isKept(reading, limit)).map(({ perSecond }) => perSecond);
  const missed = readings.filter((reading) => !isKept(reading, limit)).map(({ perSecond }) => perSecond);
  const isContradictory =
    state.prior?.isWorkload !== true &&
    Math.max(0, ...kept) > CONTRADICTORY * Math.min(...missed, Number.POSITIVE_INFINITY);
  const outcome = toOutcome(state, end, isContradictory);
  const isKnown = outcome !== 'infeasible' && outcome !== 'client-limited' && isEstimate(readings, limit);
  const capacity = isKnown ? (state.posterior?.interval ?? null) : null;
  const speed = computeSpeed(readings, question);
  const replicas =
    question.replicas && capacity && state.posterior ? replicasNeeded(state.posterior, question.replicas) : null;
  return {
    schemaVersion: 1,
    kind: 'capacity',
    ...head,
    batch,
    limit:
      limit.kind === 'latency'
        ? { percentile: limit.percentile, budgetMs: limit.budgetMs, limits: null }
        : { percentile: limit.percentile, budgetMs: null, limits: limit.limits },
    outcome,
    precision,
    capacity,
    atLeast: kept.length > 0 || state.metDespiteClient !== null ? Math.max(...kept, state.metDespiteClient ?? 0) : null,
    at: state.answer && toPoint(state.answer, batch),
    saturation: summarizeSaturation(state, batch),
    cliff: state.cliff.map(({ factor, measurement, windows }) => ({
      factor,
      ...toPoint(measurement, batch),
      growthMsPerSecond: computeGrowth(windows),
    })),
    burst: summarizeBurst(question, state),
    replicas,
    speed,
    notes: [
      ...listNotes(state, speed),
      ...(state.cutShort.size > 0 ? [cutText([...state.cutShort], mostSeconds)] : []),
      ...(isContradictory ? [DISTURBED] : []),
      ...[capacity ? whyNoCost(end.hardware) : null].flatMap((note) => note ?? []),
    ],
    probes: readings.map((reading, index) => ({
      ...toPoint(state.probes[index] as Measurement, batch),
      isKept: isKept(reading, limit),
      speed: reading.logSpeed === null ? null : Math.exp(reading.logSpeed),
    })),
    closedLoops: state.closed.map(({ level, throughput, budgetLatencyMs }) => ({
      concurrency: level.value,
      servedPerSecond: throughput.value / batch,
      percentileMs: budgetLatencyMs.value,
    })),
    seconds: end.seconds,
    mostSeconds,
    cutShort: [...state.cutShort],
    ...(capacity
      ? hardwareFigures({ perSecond: capacity, batch, replicas }, state, end.hardware)
      : { tokens: null, gpus: null, cost: null }),
  };
}

function toOutcome(
  { ending }: CapacityState,
  { wasInterrupted }: CapacityRunEnd,
  isContradictory: boolean,
): CapacityDocument['outcome'] {
  if (ending === 'infeasible') return 'infeasible';
  if (ending === 'client') return 'client-limited';
  if (ending === null || wasInterrupted) return 'interrupted';
  return ending === 'precise' && !isContradictory ? 'found' : 'imprecise';
}

function toPoint(measurement: Measurement, batch: number): PlainPoint {
  const { level, budgetLatencyMs, openLoop, latencyMs, badShare, errorRate, failures, throughput, durationMs } =
    measurement;
  const { percentile: _, ...percentileMs } = budgetLatencyMs;
  const { p50, p99 } = openLoop?.scheduledLatencyMs ?? latencyMs;
  return {
    perSecond: level.value,
    percentileMs: percentileMs.value > 0 ? percentileMs : null,
    p50Ms: p50,
    p99Ms: p99,
    badShare: badShare?.value ?? 1,
    errorRate,
    ...(failures[0] && { failure: failures[0].firstMessage }),
    servedPerSecond: throughput.value / batch,
    seconds: durationMs / 1e3,
  };
}

/**
 * Returns the most that the server served under any load, and whether a closed loop showed that it
 * can serve no more.
 */
function summarizeSaturation({ scouted, probes, cliff }: CapacityState, batch: number): CapacityDocument['saturation'] {
  if (probes.length === 0) return null;
  const open = [...probes, ...cliff.map(({ measurement }) => measurement)].map(
    ({ throughput }) => throughput.value / batch,
  );
  return { perSecond: Math.max(scouted?.mostServed ?? 0, ...open), isReached: scouted?.isSaturated ?? false };
}

/**
 * The slope of mean latency over time by least squares, in milliseconds per second; null for fewer
 * than two windows.
 */
function computeGrowth(windows: readonly CourseWindow[]): number | null {
  const seen = windows.filter(({ perSecond }) => perSecond > 0);
  if (seen.length < 2) return null;
  const mean = (of: (window: CourseWindow) => number): number =>
    seen.reduce((sum, each) => sum + of(each), 0) / seen.length;
  const [atMean, msMean] = [mean((each) => each.endSeconds), mean((each) => each.meanMs)];
  const across = mean((each) => (each.endSeconds - atMean) * (each.meanMs - msMean));
  const spread = mean((each) => (each.endSeconds - atMean) ** 2);
  return spread > 0 ? across / spread : 0;
}

function summarizeBurst({ burst, limit, batch }: CapacityQuestion, state: CapacityState): CapacityDocument['burst'] {
  if (!burst) return null;
  const budgetMs = limit.kind === 'latency' ? limit.budgetMs : Number.POSITIVE_INFINITY;
  return {
    ...burst,
    basePerSecond: state.burst?.interval ?? null,
    plays: state.bursts.map(({ perSecond, measurement, windows, reading }) => ({
      ...toPoint(measurement, batch),
      perSecond,
      isKept: isKept(reading, limit),
      worstMs: Math.max(0, ...windows.map(({ percentileMs }) => percentileMs)),
      recoveredAfterSeconds: recoveredAfter(windows, burst.seconds, budgetMs),
    })),
  };
}

function computeSpeed(readings: readonly RateReading[], { followsHost }: CapacityQuestion): CapacityDocument['speed'] {
  const speeds = readings.flatMap(({ logSpeed }) => (logSpeed === null ? [] : [Math.exp(logSpeed)]));
  if (speeds.length === 0) return null;
  const [lowest, highest] = [Math.min(...speeds), Math.max(...speeds)];
  return { lowest, highest, hasChanged: highest > TOLD * lowest, isCorrected: followsHost };
}

function listNotes({ clientLimit, probes }: CapacityState, speed: CapacityDocument['speed']): string[] {
  const refused = refusalsIn(probes);
  const foreign = probes.filter(({ foreignRequests }) => foreignRequests !== undefined).length;
  return [
    ...(clientLimit
      ? [
          `the load generator was the limit at ${clientLimit.perSecond} requests/s: ${clientLimit.reason}. Run tritune where the CPU is idle, or send the load from other machines (--agents)`,
        ]
      : []),
    ...(speed?.hasChanged
      ? [
          `the host's speed changed from ${speed.lowest.toFixed(2)} to ${speed.highest.toFixed(2)} times its usual speed during the run: repeat the run, or compare alternating runs`,
        ]
      : []),
    ...(refused
      ? [`${shareText(refused.share)} of the replies had the status ${refused.statuses.join(', ')}; they count as bad`]
      : []),
    ...(foreign > 0 ? [`someone else used the model in ${foreign} of ${probes.length} measurements`] : []),
  ];
}
