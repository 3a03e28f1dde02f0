import { probit } from 'simple-statistics';
import { canonicalJson } from '#base/json.ts';
import { assess, costHalfWidth } from '../goal/goal.ts';
import type { StudyState } from '../records/state.ts';
import { additiveFit, type FittedTrial } from './additive-fit.ts';
import { settingsOfStudy } from './settings.ts';

/**
 * The effect of a parameter on the objective, between the best and the worst of its tried values.
 */
export interface ParameterImportance {
  readonly name: string;
  /**
   * The values in trials that count, the best first, with the factor by which each is worse: 1 for
   * the best.
   */
  readonly values: readonly { readonly value: string; readonly trials: number; readonly factor: number }[];
  /**
   * The best value over the worst by the fit, other parameters being equal; 1 with fewer than two
   * values.
   */
  readonly factor: number;
  /**
   * Pairs of trials that differ in this parameter alone, and the largest ratio among them; null
   * without any.
   */
  readonly pairs: { readonly count: number; readonly largest: number } | null;
  readonly verdict: 'moved' | 'within noise' | 'not varied';
}

/** The importance of every parameter in a study. */
export interface Importance {
  /** The parameter with the largest effect first. */
  readonly parameters: readonly ParameterImportance[];
  /** Trials that count: measured and feasible. */
  readonly trials: number;
  readonly infeasible: number;
  /** Factors below this are within the noise of two measurements of one config. */
  readonly noiseFactor: number;
  /**
   * The share of the variance that the fit predicts for trials left out in turn. Below a half the
   * parameters interact, or there are too few trials. null with fewer than three.
   */
  readonly predictedShare: number | null;
  /** True with fewer than two trials per effect: the factors are hints. */
  readonly isScarce: boolean;
}

/** The predicted share of the variance from which on the fit says something. */
const MIN_PREDICTED_SHARE = 0.5;

/**
 * Returns what can be said of the parameters: all of the fit where it predicts at least half of the
 * variance, else only those with direct comparisons. Empty where neither says anything.
 */
export const tellingParameters = ({ parameters, predictedShare }: Importance): readonly ParameterImportance[] =>
  isPredictive(predictedShare) ? parameters : parameters.filter(({ pairs }) => pairs !== null);

/** True if the fit predicts at least half of the variance of trials left out. */
export const isPredictive = (predictedShare: number | null): boolean =>
  predictedShare !== null && predictedShare >= MIN_PREDICTED_SHARE;

/**
 * Computes the importance of each parameter for exp(−cost), which is the throughput where that is
 * the objective. null with fewer than two feasible trials.
 */
export function computeImportance(state: StudyState): Importance | null {
  const { goal, started, compared } = state;
  const { trials } = compared;
  const measured = trials.filter((trial) => trial.failure === null && trial.chosen !== null);
  const feasible = measured.filter((trial) => trial.feasible);
  const settings = settingsOfStudy(started, trials);
  if (feasible.length < 2 || settings.names.length === 0) return null;
  const chosen = feasible.map((trial) => ({ trial, measurement: trial.measurements[trial.chosen as number] }));
  const rows = chosen.flatMap(({ trial, measurement }): (FittedTrial & { halfWidth: number })[] => {
    if (!measurement) return [];
    const { cost } = assess(measurement, trial.candidate, goal);
    const halfWidth = costHalfWidth(measurement, trial.candidate, goal);
    return Number.isFinite(cost) ? [{ settings: settings.of(trial.candidate), size: -cost, halfWidth }] : [];
  });
  if (rows.length < 2) return null;
  const noise = Math.SQRT2 * computeMedian(rows.map(({ halfWidth }) => halfWidth).filter(Number.isFinite));
  const fit = additiveFit(rows);
  const parameters = settings.names.map((name, index) =>
    importanceOfParameter(name, index, rows, fit.effects[index] ?? new Map(), noise),
  );
  const effects = parameters.reduce((sum, { values }) => sum + Math.max(0, values.length - 1), 0);
  return {
    parameters: parameters.sort((a, b) => strength(b) - strength(a)),
    trials: rows.length,
    infeasible: measured.length - feasible.length,
    noiseFactor: Math.exp(noise),
    predictedShare: fit.predictedShare,
    isScarce: rows.length < 2 * (effects + 1),
  };
}

const strength = ({ verdict, factor }: ParameterImportance): number => (verdict === 'not varied' ? 0 : factor);

function importanceOfParameter(
  name: string,
  index: number,
  rows: readonly FittedTrial[],
  effects: ReadonlyMap<string, number>,
  noise: number,
): ParameterImportance {
  const top = Math.max(...effects.values());
  const values = [...effects]
    .map(([value, effect]) => ({
      value,
      trials: rows.filter(({ settings }) => settings[index] === value).length,
      factor: Math.exp(top - effect),
    }))
    .sort((a, b) => a.factor - b.factor);
  const pairs = findPairs(rows, index);
  const factor = values.at(-1)?.factor ?? 1;
  const isSeen =
    Math.log(factor) > noise || (pairs !== null && Math.log(pairs.largest) > noise * bonferroniFactor(pairs.count));
  const verdict = values.length < 2 ? 'not varied' : isSeen ? 'moved' : 'within noise';
  return { name, values, factor, pairs, verdict };
}

function findPairs(rows: readonly FittedTrial[], index: number): ParameterImportance['pairs'] {
  const groups = Map.groupBy(rows, ({ settings }) => canonicalJson(settings.toSpliced(index, 1)));
  let [count, largest] = [0, 1];
  for (const group of groups.values()) {
    for (const [place, one] of group.entries()) {
      for (const other of group.slice(place + 1)) {
        if (one.settings[index] === other.settings[index]) continue;
        count++;
        largest = Math.max(largest, Math.exp(Math.abs(one.size - other.size)));
      }
    }
  }
  return count > 0 ? { count, largest } : null;
}

/**
 * Returns the factor by which the farthest of `count` pairs may be farther apart by chance than one
 * pair (Bonferroni, at 95 %).
 */
const bonferroniFactor = (count: number): number => probit(1 - 0.025 / count) / probit(0.975);

const computeMedian = (values: readonly number[]): number =>
  values.length === 0 ? 0 : ([...values].sort((a, b) => a - b)[values.length >> 1] as number);
