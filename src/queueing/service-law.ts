import { TrituneError } from '#base/errors.ts';
import { type Random, standardNormal } from '#base/random.ts';

/** Mean time of a lone execution. */
export type LawPoint = { readonly batchSize: number; readonly executionNs: number };

/** Time of one execution as a function of its batch size and of the number of busy instances. */
export type ServiceLaw = {
  /**
   * Points by rising batch size, at least one; linear between them, and beyond the outermost two.
   */
  readonly points: readonly LawPoint[];
  readonly interference: {
    /**
     * Relative slowdown of an execution of one sample by each additional busy instance: 0 none, 1
     * its whole time alone.
     */
    readonly perInstance: number;
    /** Exponent of the batch size in that slowdown; 0 for no dependence. */
    readonly batchExponent: number;
  };
  /**
   * Batch sizes that the model really executes, rising: a batch takes the time of the next one;
   * beyond the last, of a multiple of it. Empty: every size as it is.
   */
  readonly paddedSizes: readonly number[];
  /**
   * The most executions that run concurrently on one device; additional instances wait for their
   * turn, and their requests stay queued. TensorRT's instances on one GPU, for example, share a
   * thread. Absent: the number of instances.
   */
  readonly atOnce?: number;
  /** Coefficient of variation of an execution's time. */
  readonly cv: number;
  /** Time that the server's front end takes for each request, serially, before it is queued. */
  readonly frontEndNs: number;
  /**
   * Shares of an execution's time that are compute-input and compute-output; the rest is
   * compute-infer.
   */
  readonly split: { readonly input: number; readonly output: number };
};

/**
 * The largest slowdown per busy instance: it may exceed serial execution (caches, clocks), but
 * rarely by more than this.
 */
const LARGEST_INTERFERENCE = 2.5;

/** Returns an affine service law, without interference, padding, spread or front end. */
export function affineLaw(fixedNs: number, perSampleNs: number): ServiceLaw {
  const at = (batchSize: number): LawPoint => ({ batchSize, executionNs: fixedNs + perSampleNs * batchSize });
  return {
    points: [at(1), at(2)],
    interference: { perInstance: 0, batchExponent: 0 },
    paddedSizes: [],
    cv: 0,
    frontEndNs: 0,
    split: { input: 0, output: 0 },
  };
}

/**
 * Checks a service law. Throws INPUT_INVALID, naming the figure, for one that no server could have.
 */
export function checkServiceLaw(law: ServiceLaw): void {
  const { points, interference, paddedSizes, cv, frontEndNs, split } = law;
  if (points.length === 0) refuse('it has no points', 'give the execution time of one batch size at least');
  points.forEach(({ batchSize, executionNs }) => {
    if (!isAbove(executionNs, 0)) refuse(`batch size ${batchSize} takes ${executionNs} ns`, 'give a time above 0');
  });
  checkSizes(
    'the batch sizes of its points',
    points.map(({ batchSize }) => batchSize),
  );
  checkSizes('its padded sizes', paddedSizes);
  if (law.atOnce !== undefined && !(Number.isInteger(law.atOnce) && law.atOnce >= 1)) {
    refuse(`atOnce is ${law.atOnce}`, 'give an integer of at least 1');
  }
  const figures = { ...interference, cv, frontEndNs, 'split.input': split.input, 'split.output': split.output };
  for (const [name, value] of Object.entries(figures)) {
    if (!(Number.isFinite(value) && value >= 0)) refuse(`${name} is ${value}`, 'give a finite number of at least 0');
  }
  if (split.input + split.output > 1) refuse('input and output are more than the whole', 'give shares of at most 1');
}

/**
 * Returns the mean time of one execution in nanoseconds. `busyInstances` counts the executing one.
 */
export function executionNs(law: ServiceLaw, batchSize: number, busyInstances: number): number {
  const alone = loneExecutionNs(law, batchSize);
  if (law.interference.perInstance === 0 || busyInstances <= 1) return alone;
  return alone * (1 + slowdownPerInstance(law, batchSize) * (busyInstances - 1));
}

/** Returns the mean time of an execution while all other instances are idle, in nanoseconds. */
export function loneExecutionNs({ points, paddedSizes }: ServiceLaw, batchSize: number): number {
  return timeAlone(points, paddedSize(paddedSizes, batchSize));
}

/**
 * Returns the slowdown of an execution by each additional busy instance, as a share of its time
 * alone.
 */
export function slowdownPerInstance({ interference, paddedSizes }: ServiceLaw, batchSize: number): number {
  const { perInstance, batchExponent } = interference;
  return Math.min(LARGEST_INTERFERENCE, perInstance * paddedSize(paddedSizes, batchSize) ** batchExponent);
}

/**
 * Returns a generator of log-normal factors with mean 1 and this coefficient of variation;
 * constantly 1, without drawing, if that is 0.
 */
export function createSpread(cv: number, random: Random): () => number {
  if (cv === 0) return () => 1;
  const variance = Math.log1p(cv * cv);
  const sd = Math.sqrt(variance);
  return () => Math.exp(sd * standardNormal(random) - variance / 2);
}

/** The three parts of an execution's time. */
export type ExecutionSplit = { readonly inputNs: number; readonly inferNs: number; readonly outputNs: number };

/** Splits an execution's time as Triton's statistics do. */
export function splitExecution(law: Pick<ServiceLaw, 'split'>, totalNs: number): ExecutionSplit {
  const inputNs = totalNs * law.split.input;
  const outputNs = totalNs * law.split.output;
  return { inputNs, inferNs: totalNs - inputNs - outputNs, outputNs };
}

function paddedSize(sizes: readonly number[], batchSize: number): number {
  for (const size of sizes) if (size >= batchSize) return size;
  const last = sizes.at(-1);
  return last === undefined ? batchSize : Math.ceil(batchSize / last) * last;
}

function timeAlone(points: readonly LawPoint[], batchSize: number): number {
  const first = points[0] as LawPoint;
  if (points.length === 1) return first.executionNs;
  let upper = 1;
  while (upper < points.length - 1 && (points[upper] as LawPoint).batchSize < batchSize) upper++;
  const a = points[upper - 1] as LawPoint;
  const b = points[upper] as LawPoint;
  const slope = (b.executionNs - a.executionNs) / (b.batchSize - a.batchSize);
  if (batchSize > b.batchSize) return b.executionNs + Math.max(0, slope) * (batchSize - b.batchSize);
  const straight = a.executionNs + slope * (batchSize - a.batchSize);
  if (batchSize >= first.batchSize) return straight;
  // Fewer samples never take longer, nor less than their share, although extrapolation through two
  // noisy points may give either.
  return Math.min(first.executionNs, Math.max(straight, (first.executionNs * batchSize) / first.batchSize));
}

function checkSizes(what: string, sizes: readonly number[]): void {
  const rise = sizes.every((size, index) => Number.isInteger(size) && size > (sizes[index - 1] ?? 0));
  if (!rise) refuse(`${what} are ${sizes.join(', ')}`, 'give integers from 1, each larger than the one before');
}

function isAbove(value: number, limit: number): boolean {
  return Number.isFinite(value) && value > limit;
}

function refuse(what: string, hint: string): never {
  throw new TrituneError('INPUT_INVALID', `this is not a service law: ${what}`, hint);
}
