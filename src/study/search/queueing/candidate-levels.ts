import { atClientBatch, type Choice, largestRequest, listParts } from '#perfmodel/modelled-config.ts';
import type { LevelPoint, LevelRange } from '../../types.ts';

/** Requests in flight per place in a batch beyond which more requests only wait, … */
const USEFUL_DEPTH = 4;
/** … and requests that are allowed on top of that. */
const ALWAYS_USEFUL = 8;
/** The ratio of neighbouring levels in a range of request rates. */
const RATE_STEP = 1.3;
/**
 * The ratio of neighbouring client batches in a search over batches alone, and where concurrency is
 * searched too.
 */
const BATCH_STEP = { alone: 2, paired: 4 };
/** The first client batch of a search: large enough to show what a sample costs. */
const FIRST_BATCH = 16;
/**
 * Client batches near a multiple of this are rounded to it: GPUs serve a batch in the time of the
 * next multiple of 8.
 */
const BATCH_UNIT = 8;
/** Levels whose ratio is below this count as the same level. */
export const ALIKE_LEVELS = 1.09;

/**
 * Returns a coarse grid of levels for a choice, rising: doublings from half a request per instance,
 * and the levels that just fill every instance with one request, with a batch, with a batch while
 * one more waits, and with two batches.
 */
export function coarseLevels(choice: Choice, range: LevelRange): number[] {
  const { policy } = choice;
  if (range.mode === 'request-rate')
    return ladder(range.low, range.high, RATE_STEP).map((rate) => Number(rate.toPrecision(3)));
  if (choice.members) return networkLevels(choice, range);
  if (choice.continuous) return engineLevels(choice, range);
  const largestBatch = requestsPerBatch(choice);
  const places = policy.instances * largestBatch;
  const lowest = clamp(Math.ceil(policy.instances / 2), range);
  const highest = clamp(USEFUL_DEPTH * places + ALWAYS_USEFUL, range);
  const filling = [policy.instances, places, places + largestBatch, 2 * places].map((level) => clamp(level, range));
  const levels = [lowest, ...filling, ...ladder(1, highest, 2).filter((level) => level >= lowest), highest];
  return [...new Set(levels.filter((level) => level <= highest))].sort((a, b) => a - b);
}

/**
 * Returns a coarse grid of levels for a joint choice: doublings from one request per instance of
 * the model with the fewest, up to more than fill all batches of the model with the most places,
 * and the levels that just fill the batches of any model.
 */
function networkLevels(choice: Choice, range: LevelRange): number[] {
  const stages = listParts(choice);
  const places = stages.map(({ policy, largestBatch }) => policy.instances * largestBatch);
  const lowest = clamp(Math.min(...stages.map(({ policy }) => policy.instances)), range);
  const highest = clamp(USEFUL_DEPTH * Math.max(...places) + ALWAYS_USEFUL, range);
  const filling = places.map((each) => clamp(each, range));
  const levels = [lowest, ...filling, ...ladder(1, highest, 2).filter((level) => level >= lowest), highest];
  return apart([...new Set(levels.filter((level) => level >= lowest && level <= highest))].sort((a, b) => a - b));
}

/**
 * Requests in flight per sequence that an engine runs at once, beyond which more requests only
 * wait.
 */
const ENGINE_DEPTH = 1.5;

/**
 * Returns a coarse grid of levels for an engine: doublings from one request, the level at which all
 * requests just run at once, and one at which some wait.
 */
function engineLevels({ policy, largestBatch }: Choice, range: LevelRange): number[] {
  const places = policy.instances * largestBatch;
  const levels = [...ladder(policy.instances, places, 2), places, ENGINE_DEPTH * places];
  return apart([...new Set(levels.map((level) => clamp(Math.ceil(level), range)))].sort((a, b) => a - b));
}

/**
 * The ratio up to which levels of a joint choice or an engine count as one, because each simulation
 * takes some milliseconds.
 */
const NEAR = 1.3;

/** Drops levels that are near the one before. */
function apart(levels: readonly number[]): number[] {
  const kept: number[] = [];
  for (const level of levels) if (level > NEAR * (kept.at(-1) ?? 0)) kept.push(level);
  return kept;
}

/** Returns the levels from half of `level` to double. */
export function fineLevels(level: number, range: LevelRange): number[] {
  const rounded = stepsAround(level).map((each) =>
    range.mode === 'concurrency' ? Math.round(each) : Number(each.toPrecision(3)),
  );
  return [...new Set(rounded.map((each) => clamp(each, range)))];
}

/** Returns the requests that fill one batch of the choice. */
const requestsPerBatch = ({ largestBatch, clientBatch }: Choice): number =>
  Math.max(1, Math.floor(largestBatch / (clientBatch ?? 1)));

const stepsAround = (level: number): number[] =>
  [0.5, 0.59, 0.71, 0.84, 1, 1.19, 1.41, 1.68, 2].map((factor) => level * factor);

/**
 * Returns the choice at a coarse grid of the client batches that it takes; itself alone where the
 * study does not vary them.
 */
export function atCoarseBatches(choice: Choice, range: LevelRange): Choice[] {
  if (!range.batch) return [choice];
  const { low, high } = listBatches(choice, range.batch);
  if (low > high) return [];
  const step = range.low === range.high ? BATCH_STEP.alone : BATCH_STEP.paired;
  return [...new Set(ladder(low, high, step))].map((batch) => atClientBatch(choice, batch));
}

/**
 * Returns the choice at the client batches from half of its own to double, rounded to multiples of
 * 8 where one is near; none without one.
 */
export function atFineBatches(choice: Choice, range: LevelRange): Choice[] {
  if (!range.batch || choice.clientBatch === null) return [];
  const within = listBatches(choice, range.batch);
  const rounded = stepsAround(choice.clientBatch).map((each) => clamp(roundToUnit(Math.round(each)), within));
  return [...new Set(rounded)].map((batch) => atClientBatch(choice, batch));
}

/**
 * Returns the client batches of the study that the config takes; `high` is below `low` where it
 * takes none.
 */
const listBatches = (choice: Choice, { low, high }: Ends): Ends => ({
  low,
  high: Math.min(high, largestRequest(choice)),
});

/** Rounds to a multiple of 8 where one is within 9 %. */
function roundToUnit(batch: number): number {
  const whole = Math.round(batch / BATCH_UNIT) * BATCH_UNIT;
  return whole > 0 && Math.max(whole / batch, batch / whole) <= ALIKE_LEVELS ? whole : batch;
}

function ladder(low: number, high: number, step: number): number[] {
  const levels: number[] = [];
  for (let level = low; level < high; level *= step) levels.push(level);
  return [...levels, high];
}

type Ends = Pick<LevelRange, 'low' | 'high'>;

const clamp = (level: number, { low, high }: Ends): number => Math.min(high, Math.max(low, level));

/**
 * Returns the first level of a search: 16 requests in flight, fewer where fewer fill all instances;
 * in an open loop the lowest rate.
 */
export function firstLevel(choice: Choice, range: LevelRange): number {
  const { policy, largestBatch } = choice;
  // Above saturation the queue grows without end, and a measurement shows only that.
  if (range.mode === 'request-rate') return range.low;
  return clamp(Math.min(16, policy.instances * largestBatch), range);
}

/**
 * Returns the first point of a search: its first level; where client batches vary, as many requests
 * as instances, of 16 samples.
 */
export function firstPoint(choice: Choice, range: LevelRange): LevelPoint {
  if (!range.batch) return { value: firstLevel(choice, range) };
  const batch = clamp(Math.min(FIRST_BATCH, largestRequest(choice)), range.batch);
  return { value: clamp(choice.policy.instances, range), batch };
}

/** True if a level differs from every measured one by more than 9 %. */
export function isFarFrom(level: number, measured: readonly number[]): boolean {
  return measured.every((each) => level !== each && Math.max(level / each, each / level) > ALIKE_LEVELS);
}
