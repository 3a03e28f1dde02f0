import { cholesky, solveLower, solveUpper } from './cholesky.ts';
import type { Normal } from './gaussian-process.ts';

/** A parameter, by its index, times a weight. */
export interface Summand {
  readonly parameter: number;
  readonly weight: number;
}

/** Residuals that depend on some of the parameters. */
export interface ResidualBlock {
  /** The weighted sums of parameters that they depend on. Slopes are measured once per sum. */
  readonly sums: readonly (readonly Summand[])[];
  /**
   * Returns the residuals over their standard deviations by the values of the sums; always the same
   * number.
   */
  residuals(sums: readonly number[]): readonly number[];
}

/**
 * The parameters of the highest posterior density, and the normal distribution around them
 * (Laplace's approximation).
 */
export interface LeastSquaresFit {
  readonly parameters: readonly number[];
  readonly covariance: readonly (readonly number[])[];
  /** Mean square of the residuals: 1 if they are as large as expected. */
  readonly misfit: number;
}

export interface LeastSquaresOptions {
  /** The priors before any residual; the search begins at `start`, or at the means. */
  readonly priors: readonly Normal[];
  readonly start?: readonly number[] | undefined;
  /** The change of a parameter for measuring slopes. */
  readonly step: number;
  /** The largest change of a parameter in one iteration. */
  readonly mostChange: number;
  readonly iterations: number;
}

/**
 * Residuals beyond this many standard deviations count linearly (Huber, 1964): one that the model
 * cannot explain must not decide.
 */
const HUBER = 2.5;
/**
 * The damping of the first step, as a multiple of the prior's precision around the point where the
 * step begins. A parameter that the residuals say nothing about then moves by a hundredth of the
 * way. A failed step raises the damping by the factor, and a good one lowers it.
 */
const FIRST_DAMPING = 100;
const DAMPING_FACTOR = 8;
/** The most steps that are tried with one set of slopes. */
const TRIES = 4;
/** An iteration that improves the loss by less than this share is the last. */
const HARDLY = 1e-3;

/**
 * Fits parameters with normal priors to non-linear residuals: Gauss–Newton, damped along directions
 * that the residuals hardly tell (Levenberg, 1944; Nocedal and Wright, Numerical Optimization,
 * 2006, section 10.3), slopes by differences, and Huber's weights. Pure.
 */
export function leastSquares(blocks: readonly ResidualBlock[], options: LeastSquaresOptions): LeastSquaresFit {
  const { priors, iterations, mostChange } = options;
  let at = evaluated(blocks, options.start ?? priors.map(({ mean }) => mean), priors);
  let system = normalEquations(blocks, at, options);
  let damping = FIRST_DAMPING;
  for (let iteration = 0; iteration < iterations; iteration++) {
    let next = at;
    for (let tries = 0; tries < TRIES && next === at; tries++) {
      const change = solved(damped(system.matrix, priors, damping), system.gradient);
      const length = Math.min(1, mostChange / Math.max(1e-12, ...change.map(Math.abs)));
      const moved = at.parameters.map((value, index) => value + length * (change[index] as number));
      const tried = evaluated(blocks, moved, priors);
      if (tried.loss < at.loss) next = tried;
      damping *= next === at ? DAMPING_FACTOR : 1 / DAMPING_FACTOR;
    }
    if (next === at) break;
    const isLast = at.loss - next.loss < HARDLY * at.loss;
    at = next;
    if (isLast) break;
    if (iteration < iterations - 1) system = normalEquations(blocks, at, options);
  }
  const residuals = at.residuals.flat();
  const misfit = residuals.reduce((sum, value) => sum + huber(value), 0) / Math.max(1, residuals.length);
  return { parameters: at.parameters, covariance: inverse(system.matrix), misfit };
}

interface Evaluated {
  readonly parameters: readonly number[];
  readonly residuals: readonly (readonly number[])[];
  readonly loss: number;
}

const huber = (value: number): number =>
  Math.abs(value) <= HUBER ? value * value : HUBER * (2 * Math.abs(value) - HUBER);

function evaluated(
  blocks: readonly ResidualBlock[],
  parameters: readonly number[],
  priors: readonly Normal[],
): Evaluated {
  const residuals = blocks.map((block) => block.residuals(listSums(block, parameters)));
  const ofPriors = parameters.reduce((sum, value, index) => {
    const { mean, sd } = priors[index] as Normal;
    return sum + ((value - mean) / sd) ** 2;
  }, 0);
  return { parameters, residuals, loss: residuals.flat().reduce((sum, value) => sum + huber(value), ofPriors) };
}

const listSums = ({ sums }: ResidualBlock, parameters: readonly number[]): number[] =>
  sums.map((summands) => computeSum(summands, parameters));

/** Returns a weighted sum of parameters. */
export const computeSum = (summands: readonly Summand[], parameters: readonly number[]): number =>
  summands.reduce((total, { parameter, weight }) => total + weight * (parameters[parameter] as number), 0);

/** Returns JᵀWJ + prior precision as the lower triangle, and the direction of descent. */
function normalEquations(
  blocks: readonly ResidualBlock[],
  { parameters, residuals }: Evaluated,
  { priors, step }: LeastSquaresOptions,
): { readonly matrix: Float64Array[]; readonly gradient: number[] } {
  const matrix = priors.map(({ sd }, index) => {
    const row = new Float64Array(index + 1);
    row[index] = 1 / sd ** 2;
    return row;
  });
  const gradient = priors.map(({ mean, sd }, index) => (mean - (parameters[index] as number)) / sd ** 2);
  for (const [number, block] of blocks.entries()) {
    const residual = residuals[number] as readonly number[];
    const sums = listSums(block, parameters);
    const slopes = sums.map((_, moved) => {
      if (block.sums[moved]?.length === 0) return residual.map(() => 0);
      const at = block.residuals(sums.map((value, index) => (index === moved ? value + step : value)));
      return at.map((value, index) => (value - (residual[index] as number)) / step);
    });
    const parts = block.sums.flatMap((summands, sum) => summands.map((summand) => ({ ...summand, sum })));
    for (const [at, value] of residual.entries()) {
      const weight = Math.min(1, HUBER / Math.max(1e-12, Math.abs(value)));
      const computeSlope = (part: Summand & { readonly sum: number }): number =>
        part.weight * (slopes[part.sum]?.[at] as number);
      for (const part of parts) {
        const slope = computeSlope(part);
        gradient[part.parameter] = (gradient[part.parameter] as number) - weight * slope * value;
        const row = matrix[part.parameter] as Float64Array;
        for (const other of parts) {
          if (other.parameter > part.parameter) continue;
          row[other.parameter] = (row[other.parameter] as number) + weight * slope * computeSlope(other);
        }
      }
    }
  }
  return { matrix, gradient };
}

/** Returns the lower triangle with `damping` times the priors' precision on its diagonal. */
const damped = (matrix: readonly Float64Array[], priors: readonly Normal[], damping: number): Float64Array[] =>
  matrix.map((row, index) => {
    const { sd } = priors[index] as Normal;
    const copy = row.slice();
    copy[index] = (row[index] as number) + damping / sd ** 2;
    return copy;
  });

function solved(matrix: readonly Float64Array[], values: readonly number[]): number[] {
  const factor = cholesky(matrix, new Float64Array(matrix.length));
  return [...solveUpper(factor, solveLower(factor, values))];
}

const inverse = (matrix: readonly Float64Array[]): number[][] =>
  matrix.map((_, column) =>
    solved(
      matrix,
      matrix.map((__, row) => (row === column ? 1 : 0)),
    ),
  );
