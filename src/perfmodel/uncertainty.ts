import { executionNs, type ServiceLaw } from '../queueing/service-law.ts';
import { isAmongSingles, type Point } from './interference.ts';
import { WHOLE, type WithoutParts } from './parts.ts';

/** An execution that a law is asked about. */
export interface Work {
  readonly variant: string;
  readonly instances: number;
  /** That can form: 1 without batching. */
  readonly largestBatch: number;
  readonly batchSize: number;
  readonly busyInstances: number;
}

/** Settings may do more for large batches than for small ones, or for many instances. */
const PER_DOUBLING_OF_A_VARIANT = { batch: 0.08, instances: 0.12 };
const MOST = 0.35;

/** Between two batch sizes that were seen, and beyond the largest: shares of what the times there may differ by. */
const SHARE_BETWEEN = 0.1;
const SHARE_BEYOND = 0.15;
/** So many times larger shares where the times cannot be on one line. */
const WITH_STEPS = 5;
/** Times grow as the batch to this power at most where a line goes through all of them; somewhat above it there must be steps. */
const ON_A_LINE = 0.7;
const NOT_ON_A_LINE = 1.2;
/** By how much that power may fall, as measurements are noisy, and where there must be steps. */
const FALL_ON_A_LINE = 0.15;
const FALL_NOT_ON_A_LINE = 0.45;
/** Batch sizes nearer than this tell nothing of the growth between them: a ratio. */
const APART = 1.4;
const ALIKE = 1.07;
/** More busy instances than this crowd each other. */
const CROWDED = 1.2;
/** Batches save little where a sample in one takes more than this of what it takes alone. */
const LITTLE_SAVED = 0.5;
/** Of how much longer single executions took in company: it may all be the company's. */
const SHARE_OF_COMPANY = 0.8;
/** A mean of very few executions does not count as seen. */
const LEAST_WEIGHT = 0.2;

/**
 * How far a law may be off for an execution, as a logarithm's standard deviation: by what was not seen of batch sizes, and of the
 * variant elsewhere, and of single executions among themselves. How instances slow each other has an uncertainty of its own (interference.ts).
 * `points` are of all variants.
 */
export const uncertaintyOf = (
  work: Work,
  points: readonly Point[],
  law: ServiceLaw,
  without: WithoutParts = WHOLE,
): number =>
  Math.hypot(
    ofBatchSize(work, points, law, without),
    without.has('setting-uncertainty') ? 0 : ofVariant(work, points),
    without.has('company') ? 0 : ofCompany(work, points, law),
  );

/**
 * Where single executions were seen beside batches only, the batches may be what slows them: to gather their inputs takes memory bandwidth and
 * caches. Without batching there is none of that, and where batches save little for each sample, that may be worth more than they are. On a real
 * Triton, Python backend, images of 600 KiB, four instances: 387 us for a single execution without batching, 1,247 us beside batches of 4.
 */
function ofCompany(
  { largestBatch, batchSize, busyInstances }: Work,
  points: readonly Point[],
  law: ServiceLaw,
): number {
  if (largestBatch > 1 || batchSize > 1 || busyInstances <= CROWDED) return 0;
  const told = points.filter(({ weight }) => weight >= LEAST_WEIGHT);
  if (told.some((point) => point.busyInstances > CROWDED && isAmongSingles(point))) return 0;
  const batches = sizesOf(points).filter((size) => size > 1);
  const crowdedNs = executionNs(law, 1, busyInstances);
  const perSampleNs = batches.map((size) => executionNs(law, size, busyInstances) / size);
  if (batches.length === 0 || Math.min(...perSampleNs) <= LITTLE_SAVED * crowdedNs) return 0;
  const aloneNs = Math.min(
    executionNs(law, 1, 1),
    ...told.filter((point) => point.batchSize === 1).map((point) => point.executionNs),
  );
  return SHARE_OF_COMPANY * Math.log(crowdedNs / aloneNs);
}

/** A variant that was seen, but elsewhere. */
function ofVariant({ variant, instances, batchSize }: Work, points: readonly Point[]): number {
  const own = points.filter((point) => point.variant === variant && point.weight >= LEAST_WEIGHT);
  if (own.length === 0 || points.every((point) => point.variant === variant)) return 0;
  const { batch: perBatch, instances: perInstances } = PER_DOUBLING_OF_A_VARIANT;
  const apart = own.map(
    (point) => perBatch * doublings(batchSize, point.batchSize) + perInstances * doublings(instances, point.instances),
  );
  return Math.min(MOST, ...apart);
}

/**
 * The time of a batch size that was not seen lies between those of its neighbours: the farther these are apart, the less is
 * known. A line may go through them, but not where times grow faster than batches, nor where they grow first and then no more:
 * there is a step somewhere (padding, a cliff), and where there is one there may be others.
 */
function ofBatchSize({ batchSize }: Work, points: readonly Point[], law: ServiceLaw, without: WithoutParts): number {
  const sizes = sizesOf(points);
  const below = sizes.findLast((size) => size <= batchSize * ALIKE);
  const above = sizes.find((size) => size * ALIKE >= batchSize);
  if (below === undefined || below * ALIKE >= batchSize || (above ?? Number.POSITIVE_INFINITY) <= batchSize * ALIKE)
    return 0;
  const growth = (from: number, to: number): number =>
    Math.max(0, Math.log(executionNs(law, to, 1) / executionNs(law, from, 1)));
  const surely = without.has('step-uncertainty') ? 1 : 1 + (WITH_STEPS - 1) * chanceOfSteps(sizes, growth);
  return above === undefined
    ? SHARE_BEYOND * surely * growth(below, batchSize)
    : SHARE_BETWEEN * surely * Math.sqrt(growth(below, batchSize) * growth(batchSize, above));
}

/** By powers of the batch size that times grow with: those of a line are at most 1, and never fall from one size to a larger. */
function chanceOfSteps(sizes: readonly number[], growth: (from: number, to: number) => number): number {
  const powers = sizes.flatMap((size) => {
    const before = sizes.findLast((each) => each * APART <= size);
    return before === undefined ? [] : [growth(before, size) / Math.log(size / before)];
  });
  const steepest = Math.max(0, ...powers);
  const fall = Math.max(0, ...powers.map((power, index) => power - Math.min(power, ...powers.slice(index + 1))));
  const tooSteep = (steepest - ON_A_LINE) / (NOT_ON_A_LINE - ON_A_LINE);
  const flatter = (fall - FALL_ON_A_LINE) / (FALL_NOT_ON_A_LINE - FALL_ON_A_LINE);
  return Math.min(1, Math.max(0, tooSteep, flatter));
}

const known = new WeakMap<readonly Point[], readonly number[]>();

/** Rising. */
function sizesOf(points: readonly Point[]): readonly number[] {
  const seen = points.filter(({ weight }) => weight >= LEAST_WEIGHT).map(({ batchSize }) => batchSize);
  const sizes = known.get(points) ?? [...new Set(seen)].sort((a, b) => a - b);
  known.set(points, sizes);
  return sizes;
}

const doublings = (a: number, b: number): number => Math.abs(Math.log2(a / b));
