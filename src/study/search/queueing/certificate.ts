import { rootMeanSquare } from 'simple-statistics';
import { MIN_NOISE } from '#perfmodel/correction.ts';
import { atClientBatch, type Choice, toChoice } from '#perfmodel/modelled-config.ts';
import { chanceBelow, DEVIATIONS_AT_95_PERCENT } from '#stats/normal.ts';
import { assess, costHalfWidth } from '../../goal/goal.ts';
import type { Certificate, Goal, LevelRange, Trial } from '../../types.ts';
import { pruneReason } from '../pruning.ts';
import { type AcquisitionPoint, coarsePoints, finePoints } from './acquisition.ts';
import type { PosteriorModel } from './posterior-model.ts';
import { boundInCost, byBound } from './screen.ts';
import type { SearchState } from './search-state.ts';

/** The chance with which a certificate is true. */
const CONFIDENCE = 0.95;
/** A higher gain is not stated: such a search has not shown much yet. */
const MAX_STATED_GAIN = 1;
/** The least number of predictions by which the model is judged, … */
const MIN_PREDICTIONS = 3;
/** … and the number of latest trials that are predicted again. */
const MAX_JUDGED = 12;
/** Predictions that are off by more than this multiple of their standard deviation refuse it. */
const MAX_MISFIT = 3;
/** Configs that are simulated, at most. */
const MAX_SIMULATED = 300;
/** The number of these that are simulated at finer levels too. */
const LOOKED_AT_CLOSELY = 24;
/** The number of halvings in the bisection for the gain. */
const HALVINGS = 12;

/** A search whose space is to be certified. */
export interface CertifiedSearch {
  readonly goal: Goal;
  readonly levels: LevelRange;
  /** Every config of the space. */
  readonly all: readonly Choice[];
  readonly trials: readonly Trial[];
  /** The state after these trials. */
  readonly state: SearchState;
  /** Returns the model fitted to the first trials, `count` of them. */
  fitToFirst(count: number): PosteriorModel;
}

/** A config at a level to which the others of its space are compared. */
export interface CertifiedPoint {
  readonly choice: Choice;
  readonly level: number;
}

/** How much better than a config any other can be. */
export interface PossibleGain {
  /** A fraction; infinity where too little is known. */
  readonly gain: number;
  /** The factor on the model's standard deviations. */
  readonly inflation: number;
  /** The cost of the config, a logarithm. */
  readonly cost: number;
}

/**
 * Returns how much better than a config any other of its space can be, at any level, with a
 * probability of 95 %: the sum over all configs of the chance to be better by more than that is 5 %
 * (Boole's inequality), with the model's standard deviations multiplied by the misfit of its
 * earlier predictions in the same search. Returns the reason where it cannot be known.
 */
export function findPossibleGain(search: CertifiedSearch, { choice, level }: CertifiedPoint): PossibleGain | string {
  const { goal, levels, state } = search;
  const cost = state.posterior.predict(choice, level)?.cost.mean;
  if (cost === undefined) return 'the performance model cannot predict the config';
  const misfit = computeMisfit(search);
  if (misfit === null) return { gain: Number.POSITIVE_INFINITY, inflation: 1, cost };
  if (misfit > MAX_MISFIT)
    return `the server was ${misfit.toFixed(1)} times as far from the predictions as the model expects`;
  const { points, others } = listEverywhere(search);
  const bounds = boundInCost(others, state.serviceModel, goal, levels);
  if (bounds === null) return `the space has more than the ${MAX_SIMULATED} configs that are predicted for such a goal`;
  const inflation = Math.max(1, misfit);
  return { gain: solveGain(points, bounds, cost, inflation), inflation, cost };
}

/** Returns the certificate of a possible gain. `configs`: the number of configs of the space. */
export function toCertificate(possible: PossibleGain | string, configs: number): Certificate {
  const known = { confidence: CONFIDENCE, configs };
  if (typeof possible === 'string') return { ...known, gain: null, reason: possible };
  if (Number.isFinite(possible.gain)) return { ...known, gain: possible.gain, reason: null };
  return { ...known, gain: null, reason: 'a config that was not measured may still be more than twice as good' };
}

/**
 * Returns the point that most likely is better than a config by more than `gain`, a fraction; null
 * if none can be.
 */
export function mostDoubtful(
  points: readonly AcquisitionPoint[],
  { cost, inflation }: PossibleGain,
  gain: number,
): AcquisitionPoint | null {
  let most: AcquisitionPoint | null = null;
  let highest = 0;
  for (const point of points) {
    const chance = point.prediction.cheaperChance(cost - Math.log1p(gain), inflation);
    if (chance <= highest) continue;
    most = point;
    highest = chance;
  }
  return most;
}

/**
 * Returns the root mean square of (measured − predicted) / standard deviation of the cost's
 * logarithm, each trial predicted by the trials before it; null with fewer than three predictions.
 */
function computeMisfit({ goal, trials, fitToFirst }: CertifiedSearch): number | null {
  const deviations: number[] = [];
  for (let count = Math.max(1, trials.length - MAX_JUDGED); count < trials.length; count++) {
    const { candidate, measurements } = trials[count] as Trial;
    if (measurements.length === 0) continue;
    const posterior = fitToFirst(count);
    for (const measurement of measurements) {
      const choice = atClientBatch(toChoice(candidate), measurement.level.batch);
      const cost = posterior.predict(choice, measurement.level.value)?.cost;
      if (!cost) continue;
      const noise = Math.max(
        MIN_NOISE.throughput,
        costHalfWidth(measurement, candidate, goal) / DEVIATIONS_AT_95_PERCENT,
      );
      deviations.push((assess(measurement, candidate, goal).cost - cost.mean) / Math.hypot(cost.sd, noise));
    }
  }
  if (deviations.length < MIN_PREDICTIONS) return null;
  return rootMeanSquare(deviations);
}

/**
 * Returns the points of the configs that may load, at all levels, the measured ones included, and
 * the configs that are left: those with the lowest bounds on throughput.
 */
function listEverywhere({ all, goal, levels, trials, state }: CertifiedSearch): {
  readonly points: readonly AcquisitionPoint[];
  readonly others: readonly Choice[];
} {
  const open = all.filter(({ candidate }) => pruneReason(candidate, trials) === null);
  const sorted = open.length > MAX_SIMULATED ? byBound(open, state.serviceModel, goal, levels) : open;
  const context = { ...state.context, range: levels, isKnown: () => false };
  const coarse = coarsePoints(sorted.slice(0, MAX_SIMULATED), context);
  return {
    points: [...coarse, ...finePoints(coarse, context, state.best, LOOKED_AT_CLOSELY)],
    others: sorted.slice(MAX_SIMULATED),
  };
}

/**
 * Returns the gain over the cost `best`, a fraction, that any config exceeds with a chance of 5 %;
 * infinity if it is higher than what is stated. `bounds`: the lowest costs of the configs without a
 * prediction, which are as uncertain as the least certain prediction.
 */
function solveGain(
  points: readonly AcquisitionPoint[],
  bounds: readonly number[],
  best: number,
  inflation: number,
): number {
  const configs = [...Map.groupBy(points, ({ choice }) => choice.candidate.fingerprint).values()];
  const widest = inflation * Math.max(0, ...points.map(({ prediction }) => prediction.cost.sd));
  const isLikely = (gain: number): boolean => {
    const predicted = configs.map((levels) =>
      Math.max(...levels.map(({ prediction }) => prediction.cheaperChance(best - gain, inflation))),
    );
    const unpredicted = bounds.map((bound) => chanceBelow((best - gain - bound) / widest));
    return [...predicted, ...unpredicted].reduce((sum, chance) => sum + chance, 0) > 1 - CONFIDENCE;
  };
  if (!isLikely(0)) return 0;
  let low = 0;
  let high = Math.log1p(MAX_STATED_GAIN);
  if (isLikely(high)) return Number.POSITIVE_INFINITY;
  for (let halving = 0; halving < HALVINGS; halving++) {
    const middle = (low + high) / 2;
    if (isLikely(middle)) low = middle;
    else high = middle;
  }
  return Math.expm1(high);
}
