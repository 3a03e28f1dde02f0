import { type Choice, listParts } from '#perfmodel/modelled-config.ts';
import { findChosen } from '../../goal/ranking.ts';
import type { LevelRange, Trial } from '../../types.ts';

/** Largest batches up to this, and … */
const FIRST_BATCHES = 128;
/** … requests in flight up to this are looked at from the start; */
const FIRST_LEVELS = 256;
/** then up to this multiple of what the best trial so far has, */
const GROWTH = 2;
/** if it fills this share of its largest batch. */
const FILLED = 0.5;

/**
 * Returns the choices whose largest batch is within reach: up to 128; up to twice that of the
 * feasible trial with the highest throughput once its executions fill half of it. All of them where
 * none is. Candidates that no traffic fills would only make a search longer.
 */
export function withinReach(choices: readonly Choice[], trials: readonly Trial[]): readonly Choice[] {
  const best = highest(trials);
  const reach = Math.max(FIRST_BATCHES, best ? computeReach(best) : 0);
  const within = choices.filter((choice) => listParts(choice).every(({ policy }) => policy.maxBatchSize <= reach));
  return within.length > 0 ? within : choices;
}

/**
 * Returns the levels within reach: up to 256 requests in flight, up to twice the level of the
 * feasible trial with the highest throughput, or twice the lowest level. Simulating thousands of
 * requests in flight takes seconds, which a search that ends at 50 has no use for.
 */
export function levelsWithinReach(range: LevelRange, trials: readonly Trial[]): LevelRange {
  if (range.mode !== 'concurrency') return range;
  const best = highest(trials);
  const level = (best && findChosen(best))?.level.value ?? 0;
  return { ...range, high: Math.min(range.high, Math.max(FIRST_LEVELS, GROWTH * range.low, GROWTH * level)) };
}

function highest(trials: readonly Trial[]): Trial | undefined {
  return trials.reduce<Trial | undefined>(
    (best, each) => (each.feasible && findThroughput(each) > (best ? findThroughput(best) : 0) ? each : best),
    undefined,
  );
}

const findThroughput = (trial: Trial): number => findChosen(trial)?.throughput.value ?? 0;

function computeReach(trial: Trial): number {
  const { maxBatchSize, instances } = trial.candidate.shape.policy;
  const measurement = findChosen(trial);
  if (!measurement) return 0;
  const { server, level } = measurement;
  const inFlight = level.mode === 'concurrency' ? level.value / instances : 0;
  const meanBatch =
    server && server.executionCount > 0
      ? server.inferenceCount / server.executionCount
      : Math.min(maxBatchSize, inFlight);
  return meanBatch >= FILLED * maxBatchSize ? GROWTH * maxBatchSize : meanBatch;
}
