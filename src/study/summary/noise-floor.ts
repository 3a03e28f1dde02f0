import { NS_PER_US, nsToMs } from '#base/units.ts';
import type { LoadLevel } from '#loadgen/types.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { StudyState } from '../records/state.ts';
import type { Goal, LevelPoint, LevelRange } from '../types.ts';
import type { NoiseFloor } from './context-schema.ts';

/** The meaning of a noise floor for the budget. */
export type NoiseVerdict =
  | 'model' // the model alone takes longer than the budget
  | 'breaks' // the percentile at rest is over the budget
  | 'may-break' // the percentile is over the budget in the highest window
  | 'large' // the machine decides a third of the budget or more
  | 'small';

/**
 * The most requests in flight that count as a few: they hardly wait for each other. At a rate it is
 * their mean number (Little's law).
 */
const MAX_AT_REST: Readonly<Record<LoadLevel['mode'], number>> = { concurrency: 4, 'request-rate': 1 };
/**
 * The share from which on chance decides between neighbouring levels near the budget in many
 * windows.
 */
const LARGE_SHARE = 1 / 3;

/**
 * Returns the level at which the original config is measured first, to see machine and server at
 * rest; null if the range has no level this low.
 */
export function restLevel({ mode, low, batch }: LevelRange): LevelPoint | null {
  const level = { value: low, ...(batch && { batch: batch.low }) };
  return mode === 'request-rate' || low <= MAX_AT_REST.concurrency ? level : null;
}

/**
 * Returns the noise floor at the start of the study; null if it began with another load, or the
 * floor is unknown.
 */
export function findNoiseFloor({
  baseline,
  unfinished,
  goal,
}: Pick<StudyState, 'baseline' | 'unfinished' | 'goal'>): NoiseFloor | null {
  const trial = baseline ?? (unfinished?.role === 'baseline' ? unfinished : null);
  const first = trial?.measurements[0];
  return first ? noiseFloorIn(first, goal.budget) : null;
}

/**
 * Returns the noise floor by a measurement; null if it had more than a few requests in flight, or
 * the load generator limited it.
 */
export function noiseFloorIn(measurement: Measurement, budget: Goal['budget']): NoiseFloor | null {
  const { level, budgetLatencyMs, windowPercentilesMs, latencyMs, openLoop, windows } = measurement;
  if (!windowPercentilesMs || !isAtRest(measurement) || measurement.client.bound) return null;
  const { percentile, value: valueMs } = budgetLatencyMs;
  const { low, high } = windowPercentilesMs;
  const medianMs = (openLoop?.scheduledLatencyMs ?? latencyMs).p50;
  const isAbout = budget !== null && budget.percentile === percentile;
  const share = isAbout ? computeShare(high, medianMs, budget.latencyMs) : null;
  const serverQueueMs = findQueueStall(measurement, medianMs);
  const floor = { level, percentile, valueMs, lowMs: low, highMs: high, medianMs, windows, share };
  return serverQueueMs === null ? floor : { ...floor, serverQueueMs };
}

/**
 * Returns the mean time in the server's queue in milliseconds if that is above the median of the
 * whole latency; else null. A queue delay of the config holds each request, so it cannot: only a
 * few long stalls can.
 */
function findQueueStall({ server }: Measurement, medianMs: number): number | null {
  const queueMs = nsToMs((server?.queueUs ?? 0) * NS_PER_US);
  return queueMs > medianMs ? queueMs : null;
}

function computeShare(highMs: number, medianMs: number, budgetMs: number): number {
  const room = budgetMs - medianMs;
  return room <= 0 ? 1 : Math.min(1, Math.max(0, highMs - medianMs) / room);
}

function isAtRest({ level, throughput, latencyMs }: Measurement): boolean {
  const inFlight = level.mode === 'concurrency' ? level.value : (throughput.value * latencyMs.avg) / 1e3;
  return throughput.value > 0 && inFlight <= MAX_AT_REST[level.mode];
}

/** Returns the budget, in milliseconds, below which the machine decides a large share. */
export const largeBelowMs = ({ highMs, medianMs }: NoiseFloor): number =>
  medianMs + Math.max(0, highMs - medianMs) / LARGE_SHARE;

/** Returns the meaning of the noise floor for a budget on its percentile. */
export function noiseVerdict({ valueMs, highMs, medianMs, share }: NoiseFloor, budgetMs: number): NoiseVerdict {
  if (medianMs >= budgetMs) return 'model';
  if (valueMs > budgetMs) return 'breaks';
  if (highMs > budgetMs) return 'may-break';
  return (share ?? 0) >= LARGE_SHARE ? 'large' : 'small';
}
