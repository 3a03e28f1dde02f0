import type { Choice } from '../../../perfmodel/modelled-config.ts';
import type { LevelRange } from '../../types.ts';
import { NOTHING, type Without } from './mechanisms.ts';

/** Requests in flight per place in a batch beyond which further ones only wait, … */
const USEFUL_DEPTH = 4;
/** … and requests that are allowed on top of that. */
const ALWAYS_USEFUL = 8;
/** The ratio of neighbouring levels in a range of request rates. */
const RATE_STEP = 1.3;
/** Levels whose ratio is below this count as the same level. */
export const ALIKE_LEVELS = 1.09;

/**
 * Returns a coarse grid of levels for a choice, rising: doublings from half a request per instance, and the levels that just fill every
 * instance with one request, with a batch, with a batch while one more waits, and with two batches.
 */
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

/** Returns the levels of a choice from half of `level` to double, rounded to whole batches where one is near. */
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

/** Rounds to whole batches where they are within 9 %: where a few requests are missing, a batch waits for the whole queue delay. */
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

/** Returns the first level of a search: 16 requests in flight, fewer where fewer fill all instances; in an open loop the lowest rate. */
export function firstLevel({ policy, largestBatch }: Choice, range: LevelRange): number {
  // Above saturation the queue grows without end, and a measurement shows nothing else.
  if (range.mode === 'request-rate') return range.low;
  return clamp(Math.min(16, policy.instances * largestBatch), range);
}

/** Tells whether a level differs from every measured one by more than 9 %. */
export function isFarFrom(level: number, measured: readonly number[]): boolean {
  return measured.every((each) => level !== each && Math.max(level / each, each / level) > ALIKE_LEVELS);
}
