import type { SequenceLengths } from '#queueing/continuous/lengths.ts';
import type { StepParts } from '#queueing/continuous/step-law.ts';
import { computeSum, type LeastSquaresFit, leastSquares, type ResidualBlock } from '#stats/least-squares.ts';
import type { Choice } from '../modelled-config.ts';
import { distanceBetween } from '../places.ts';
import { simulatedFigure } from '../simulated.ts';
import { placeOfEngine } from './engine-place.ts';
import { lawSums } from './law-sums.ts';
import { observedLengths, type TokenObservation } from './observed-traffic.ts';
import { meanRunning, roughFigures } from './rough-figures.ts';
import { simulateEngine } from './simulate-engine.ts';
import { summarizeTokens } from './simulated-tokens.ts';
import { type EngineLaw, lawPriors, toLaw } from './step-law-parameters.ts';
import { readTokenFigure, type TokenFigureName } from './token-figures.ts';

/**
 * Returns the first observation and those that differ most from the ones before, at most `most` of
 * them, in the order in which they were picked: a few that are far apart in all knobs and levels
 * tell more of a law than as many alike (Kennard and Stone, Technometrics 11, 1969).
 */
export function farApart(observations: readonly TokenObservation[], most: number): readonly TokenObservation[] {
  if (observations.length <= most) return observations;
  const left = observations.map((observation) => ({
    observation,
    place: placeOfEngine(observation.choice, observation.measurement.level.value),
    distance: Number.POSITIVE_INFINITY,
  }));
  return Array.from({ length: most }, () => {
    const next = left.reduce((farthest, each) => (each.distance > farthest.distance ? each : farthest));
    for (const each of left) each.distance = Math.min(each.distance, distanceBetween(each.place, next.place, 1));
    next.distance = -1;
    return next.observation;
  });
}

/** The laws of an engine by its settings, fitted to measurements. */
export interface FittedLaw {
  readonly lengths: SequenceLengths;
  toLaw(choice: Choice): EngineLaw;
  /** The standard deviation of the logarithm of a time with these shares of the law's parts. */
  uncertainty(choice: Choice, shares: StepParts): number;
}

/**
 * The figures that a law is fitted to. Each has the standard deviation of its logarithm that the
 * form of the law leaves, whatever the noise.
 */
const FITTED: readonly (readonly [figure: TokenFigureName | 'latency-avg', sd: number])[] = [
  ['output-token-throughput', 0.04],
  ['tpot-avg', 0.04],
  ['itl-p50', 0.06],
  ['itl-p99', 0.15],
  ['ttft-p50', 0.08],
  ['ttft-p99', 0.15],
  ['latency-avg', 0.04],
];
/** The residual of a figure that is impossible by the law, in standard deviations. */
const IMPOSSIBLE = 10;
/** The most measurements that a law is fitted to. */
const MAX_OBSERVATIONS = 14;
const REQUESTS = 60;
/**
 * The change of a parameter for measuring slopes: smaller ones drown in the jumps of a simulation.
 */
const STEP = 0.1;
const MAX_CHANGE = 1.2;
const ITERATIONS = 10;
const PERCENTILE = 99;

/**
 * Fits the law of an engine's steps. `observations`: at least one; `all`: every choice to predict
 * later.
 */
export function fitLaw(
  observations: readonly TokenObservation[],
  all: readonly Choice[],
  { seed }: { readonly seed: number },
): FittedLaw {
  const lengths = observedLengths(observations);
  const used = farApart(observations, MAX_OBSERVATIONS);
  const sums = lawSums(used.map(({ choice }) => choice) as [Choice, ...Choice[]], all);
  const priors = [...lawPriors(roughFigures(used, lengths)), ...sums.priors];
  const fitWith = (isStatic: boolean, start?: readonly number[]): LeastSquaresFit => {
    const blocks = used.map(
      (observation): ResidualBlock => ({
        sums: sums.of(observation.choice),
        residuals: (logs) => listResiduals(observation, toLaw(logs, isStatic), lengths, seed),
      }),
    );
    return leastSquares(blocks, { priors, start, step: STEP, mostChange: MAX_CHANGE, iterations: ITERATIONS });
  };
  const { fit, isStatic } = asFitsBest(used, fitWith);
  const widening = Math.sqrt(Math.max(1, fit.misfit));
  return {
    lengths,
    toLaw: (choice) =>
      toLaw(
        sums.of(choice).map((summands) => computeSum(summands, fit.parameters)),
        isStatic,
      ),
    uncertainty(choice, shares) {
      const { slopes, unknownSd } = sums.computeSlopes(choice, shares);
      let variance = 0;
      for (const [a, slope] of slopes) {
        for (const [b, other] of slopes) variance += slope * other * (fit.covariance[a]?.[b] as number);
      }
      return Math.hypot(widening * Math.sqrt(Math.max(0, variance)), unknownSd);
    },
  };
}

/** The mean number of sequences at once from which on both kinds of batches differ. */
const SEVERAL = 1.2;
/** The mean square of a poor fit's residuals. */
const POOR = 4;
/** The log prior odds against an engine that does not do what its settings say. */
const LOG_ODDS = 6;

/**
 * Returns the fit of an engine that batches continuously, as its settings say; or that of static
 * batches, if the first one is poor and the second clearly likelier. Some servers say one thing and
 * do the other: a lock that decoding sequences hold keeps new ones out. The likelihoods are those
 * of normal residuals of an unknown size: their ratio is that of the mean squares to the power of
 * half their number.
 */
function asFitsBest(
  observations: readonly TokenObservation[],
  fitWith: (isStatic: boolean, start?: readonly number[]) => LeastSquaresFit,
): { readonly fit: LeastSquaresFit; readonly isStatic: boolean } {
  const continuous = { fit: fitWith(false), isStatic: false };
  const tells = observations.some((each) => meanRunning(each) > SEVERAL);
  if (continuous.fit.misfit < POOR || !tells) return continuous;
  const other = { fit: fitWith(true, continuous.fit.parameters), isStatic: true };
  const logRatio = 0.5 * FITTED.length * observations.length * Math.log(continuous.fit.misfit / other.fit.misfit);
  return logRatio > LOG_ODDS ? other : continuous;
}

function listResiduals(
  { choice, measurement, arrivals }: TokenObservation,
  law: EngineLaw,
  lengths: SequenceLengths,
  seed: number,
): number[] {
  const simulation = simulateEngine(choice, arrivals ?? measurement.level, law, lengths, { seed, requests: REQUESTS });
  const { instances } = choice.policy;
  const figures = simulation && summarizeTokens(simulation, { percentile: PERCENTILE, limits: undefined, instances });
  return FITTED.map(([figure, sd]) => {
    const measured = figure === 'latency-avg' ? measurement.latencyMs.avg : readTokenFigure(figure, measurement)?.value;
    if (!(Number(measured) > 0)) return 0;
    const simulated = figures && simulatedFigure(figures, figure);
    return simulated ? Math.log(simulated / Number(measured)) / sd : IMPOSSIBLE;
  });
}
