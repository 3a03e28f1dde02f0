import { cholesky, solveLower, solveUpper } from './cholesky.ts';

/** A normal distribution; samplers use it for logarithms of figures. */
export interface Normal {
  readonly mean: number;
  readonly sd: number;
}

/** A noisy reading at a place. */
export interface NoisyReading<Place> {
  readonly place: Place;
  readonly value: number;
  readonly noiseVariance: number;
}

/** The covariance of the values at two places, under one hypothesis. */
export type Kernel<Place> = (a: Place, b: Place) => number;

/** A kernel with the logarithm of its prior probability. */
export interface Hypothesis<Place> {
  readonly kernel: Kernel<Place>;
  readonly logPrior: number;
}

export type Posterior<Place> = (place: Place) => Normal;

/**
 * Gaussian-process regression with mean 0 (Rasmussen and Williams, Gaussian Processes for Machine
 * Learning, 2006, algorithm 2.1) under the hypothesis of the highest evidence: marginal likelihood
 * times prior. The standard deviation is that of the value, without the noise of a reading. Without
 * readings it is the first hypothesis's prior.
 */
export function computePosterior<Place>(
  readings: readonly NoisyReading<Place>[],
  hypotheses: readonly [Hypothesis<Place>, ...Hypothesis<Place>[]],
): Posterior<Place> {
  return findExplanation(readings, hypotheses).posterior;
}

/** A reading that is still to come. */
export type ReadingToCome<Place> = Omit<NoisyReading<Place>, 'value'>;

/**
 * As `computePosterior`, given also that there will be readings at more places, which are assumed
 * to be as expected there (the "Kriging believer" of Ginsbourger, Le Riche and Carraro, 2010). The
 * mean stays the same everywhere; the standard deviation shrinks around the places.
 */
export function believingPosterior<Place>(
  readings: readonly NoisyReading<Place>[],
  hypotheses: readonly [Hypothesis<Place>, ...Hypothesis<Place>[]],
  toCome: readonly ReadingToCome<Place>[],
): Posterior<Place> {
  const { posterior, hypothesis } = findExplanation(readings, hypotheses);
  if (toCome.length === 0) return posterior;
  const believed = toCome.map((each) => ({ ...each, value: posterior(each.place).mean }));
  return computePosterior([...readings, ...believed], [hypothesis]);
}

/** The posterior under the hypothesis of the highest evidence. */
export interface LikeliestPosterior<Place, H extends Hypothesis<Place>> {
  readonly posterior: Posterior<Place>;
  readonly hypothesis: H;
  /** Logarithm of marginal likelihood times prior, up to a constant of the readings. */
  readonly evidence: number;
  /** The fit of each hypothesis, for `averagedPosterior`. */
  readonly fits: readonly Fit<Place>[];
}

/** As `computePosterior`, with the hypothesis and its evidence. */
export function findExplanation<Place, H extends Hypothesis<Place>>(
  readings: readonly NoisyReading<Place>[],
  hypotheses: readonly [H, ...H[]],
): LikeliestPosterior<Place, H> {
  const fits = distinct(readings, hypotheses).map((prior) => explain(readings, prior));
  const best = fits.reduce((most, each) => (each.evidence > most.evidence ? each : most));
  return {
    posterior: (place) => predict(readings, best, place),
    hypothesis: best.hypothesis as H,
    evidence: best.evidence,
    fits,
  };
}

/**
 * Returns the posterior averaged over hypotheses by their evidence (Hoeting and others, Bayesian
 * Model Averaging, 1999): its standard deviation includes that of their means. `fits`: one at
 * least, of the same readings.
 */
export function averagedPosterior<Place>(
  readings: readonly NoisyReading<Place>[],
  fits: readonly Fit<Place>[],
): Posterior<Place> {
  const most = Math.max(...fits.map(({ evidence }) => evidence));
  const likely = fits
    .map((fit) => ({ fit, weight: Math.exp(fit.evidence - most) }))
    .filter(({ weight }) => weight >= MIN_WEIGHT);
  return (place) => average(likely.map(({ fit, weight }) => ({ weight, ...predict(readings, fit, place) })));
}

/** Less likely hypotheses change nothing: their weight beside that of the likeliest. */
const MIN_WEIGHT = 0.01;

interface WeightedNormal extends Normal {
  readonly weight: number;
}

/** Returns the mean and the standard deviation of a mixture. */
function average(parts: readonly WeightedNormal[]): Normal {
  const total = parts.reduce((sum, { weight }) => sum + weight, 0);
  const mean = parts.reduce((sum, each) => sum + each.weight * each.mean, 0) / total;
  const variance = parts.reduce((sum, each) => sum + each.weight * (each.sd ** 2 + (each.mean - mean) ** 2), 0) / total;
  return { mean, sd: Math.sqrt(variance) };
}

/** A hypothesis with its covariance of the readings. */
interface Prior<Place> extends Hypothesis<Place> {
  readonly hypothesis: Hypothesis<Place>;
  /** Rows of the lower triangle of their covariance, without noise. */
  readonly covariance: readonly Float64Array[];
}

/**
 * Drops a hypothesis whose covariance and prior equal those of the one before: the readings cannot
 * distinguish them. A fit costs the cube of the number of readings, this comparison the square.
 */
function distinct<Place>(
  readings: readonly NoisyReading<Place>[],
  hypotheses: readonly Hypothesis<Place>[],
): readonly Prior<Place>[] {
  const priors: Prior<Place>[] = [];
  for (const hypothesis of hypotheses) {
    const prior = { ...hypothesis, hypothesis, covariance: computeCovariance(readings, hypothesis.kernel) };
    const last = priors.at(-1);
    if (!last || last.logPrior !== prior.logPrior || !areAlike(last.covariance, prior.covariance)) priors.push(prior);
  }
  return priors;
}

const computeCovariance = <Place>(readings: readonly NoisyReading<Place>[], kernel: Kernel<Place>): Float64Array[] =>
  readings.map(({ place }, i) => {
    const row = new Float64Array(i + 1);
    for (let j = 0; j <= i; j++) row[j] = kernel(place, (readings[j] as NoisyReading<Place>).place);
    return row;
  });

const areAlike = (one: readonly Float64Array[], other: readonly Float64Array[]): boolean =>
  one.every((row, i) => row.every((value, j) => value === other[i]?.[j]));

/** A hypothesis, fitted to readings. */
interface Fit<Place> {
  readonly hypothesis: Hypothesis<Place>;
  readonly kernel: Kernel<Place>;
  /** Rows of the lower triangle of the covariance's Cholesky factor. */
  readonly factor: readonly Float64Array[];
  /** Covariance⁻¹ · values. */
  readonly weights: Float64Array;
  readonly evidence: number;
}

function explain<Place>(
  readings: readonly NoisyReading<Place>[],
  { hypothesis, kernel, logPrior, covariance }: Prior<Place>,
): Fit<Place> {
  const factor = cholesky(
    covariance,
    readings.map(({ noiseVariance }) => noiseVariance),
  );
  const whitened = solveLower(
    factor,
    readings.map(({ value }) => value),
  );
  const weights = solveUpper(factor, whitened);
  const misfit = whitened.reduce((sum, value) => sum + value * value, 0);
  const logDeterminant = factor.reduce((sum, row, index) => sum + Math.log(row[index] as number), 0);
  return { hypothesis, kernel, factor, weights, evidence: logPrior - misfit / 2 - logDeterminant };
}

function predict<Place>(
  readings: readonly NoisyReading<Place>[],
  { kernel, factor, weights }: Fit<Place>,
  place: Place,
) {
  const covariances = readings.map((reading) => kernel(reading.place, place));
  const mean = covariances.reduce((sum, value, index) => sum + value * (weights[index] as number), 0);
  const whitened = solveLower(factor, covariances);
  const explained = whitened.reduce((sum, value) => sum + value * value, 0);
  return { mean, sd: Math.sqrt(Math.max(1e-12, kernel(place, place) - explained)) };
}

/**
 * Returns the Matérn covariance of smoothness 5/2 at a distance in length scales; 1 at distance 0.
 */
export function matern52(distance: number): number {
  const scaled = Math.sqrt(5) * distance;
  return (1 + scaled + (scaled * scaled) / 3) * Math.exp(-scaled);
}
