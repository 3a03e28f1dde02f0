import type { Choice } from '../../../perfmodel/modelled-config.ts';
import type { LevelRange } from '../../types.ts';
import { NOTHING, type Without } from './mechanisms.ts';

/** Beyond so many requests in flight for each place in a batch, more only wait. */
const USEFUL_DEPTH = 4;
const ALWAYS_USEFUL = 8;
/** Steps of a range of request rates. */
const RATE_STEP = 1.3;
/** Levels nearer than this are not told apart. */
export const ALIKE_LEVELS = 1.09;

/** Levels that show where the best of them is: doublings, and those that just fill all instances, and a batch or one for each that waits. */
export function coarseLevels({ policy, largestBatch }: Choice, range: LevelRange): number[] {
  if (range.mode === 'request-rate')
    return ladder(range.low, range.high, RATE_STEP).map((rate) => Number(rate.toPrecision(3)));
  const places = policy.instances * largestBatch;
  const lowest = clamp(Math.ceil(policy.instances / 2), range);
  const highest = clamp(USEFUL_DEPTH * places + ALWAYS_USEFUL, range);
  const filling = [policy.instances, places, places + largestBatch, 2 * places].map((level) => clamp(level, range));
  const levels = [lowest, ...filling, ...ladder(1, highest, 2).filter((level) => level >= lowest), highest];
  return [...new Set(levels.filter((level) => level <= highest))].sort((a, b) => a - b);
}

/** Levels of a choice around one, from half of it to double. */
export function fineLevels(
  { largestBatch }: Choice,
  level: number,
  range: LevelRange,
  without: Without = NOTHING,
): number[] {
  const batch = without.has('whole-batches') ? 1 : largestBatch;
  const steps = [0.5, 0.59, 0.71, 0.84, 1, 1.19, 1.41, 1.68, 2].map((factor) => level * factor);
  const rounded = steps.map((each) =>
    range.mode === 'concurrency' ? filled(Math.round(each), batch) : Number(each.toPrecision(3)),
  );
  return [...new Set(rounded.map((each) => clamp(each, range)))];
}

/** Whole batches where that many are hardly more or fewer: a few requests short of them, and each waits for the delay. */
function filled(level: number, largestBatch: number): number {
  const whole = Math.round(level / largestBatch) * largestBatch;
  return whole > 0 && Math.max(whole / level, level / whole) <= ALIKE_LEVELS ? whole : level;
}

function ladder(low: number, high: number, step: number): number[] {
  const levels: number[] = [];
  for (let level = low; level < high; level *= step) levels.push(level);
  return [...levels, high];
}

const clamp = (level: number, { low, high }: LevelRange): number => Math.min(high, Math.max(low, level));

/** Where a model begins of which nothing is known: enough in flight to fill small batches on all instances. */
export function firstLevel({ policy, largestBatch }: Choice, range: LevelRange): number {
  // Too high a rate queues without end, and tells nothing but that.
  if (range.mode === 'request-rate') return range.low;
  return clamp(Math.min(16, policy.instances * largestBatch), range);
}

/** Whether a level is none of these, nor so near to one that nothing new would be learned. */
export function isFarFrom(level: number, measured: readonly number[]): boolean {
  return measured.every((each) => level !== each && Math.max(level / each, each / level) > ALIKE_LEVELS);
}
