import { probit } from 'simple-statistics';
import { canonicalJson } from '../base/json.ts';
import { assess, costHalfWidth } from './goal.ts';
import { additiveFit, type Row } from './importance/additive-fit.ts';
import { settingsOf, spaceOf } from './settings.ts';
import type { StudyState } from './state.ts';

/** How much a parameter moved the objective, between the best and the worst of the values that were tried. */
export interface KnobImportance {
  readonly name: string;
  /** Values tried in trials that count, the best first, and by how much each is worse than the best: 1 for the best. */
  readonly values: readonly { readonly value: string; readonly trials: number; readonly factor: number }[];
  /** The best value over the worst, other parameters being equal, as the fit has it; 1 with fewer than two values. */
  readonly factor: number;
  /** Pairs of trials that differ in this parameter alone, and the largest ratio among them: no model in between. */
  readonly pairs: { readonly count: number; readonly largest: number } | null;
  readonly verdict: 'moved' | 'within noise' | 'not varied';
}

export interface Importance {
  /** What moved most first. */
  readonly knobs: readonly KnobImportance[];
  /** Trials that count: measured, and within the budget and the constraints. */
  readonly trials: number;
  readonly infeasible: number;
  /** Factors below this are what two measurements of one config may differ by. */
  readonly noiseFactor: number;
  /**
   * Share of the variance that the fit foretells of trials that it was not fitted to (each left out in turn): below a half,
   * the parameters work together rather than each by itself, or there are too few trials. null with fewer than three.
   */
  readonly foretold: number | null;
  /** Fewer than two trials for each effect that is to be told: the factors are hints. */
  readonly isScarce: boolean;
}

/** Objectives of weighted products: exp(−cost), which is the throughput where that is the objective. */
export function importanceOf(state: StudyState): Importance | null {
  const { goal, started, compared } = state;
  const { trials } = compared;
  const measured = trials.filter((trial) => trial.failure === null && trial.chosen !== null);
  const feasible = measured.filter((trial) => trial.feasible);
  const settings = settingsOf(spaceOf(started), trials);
  if (feasible.length < 2 || settings.names.length === 0) return null;
  const chosen = feasible.map((trial) => ({ trial, measurement: trial.measurements[trial.chosen as number] }));
  const rows = chosen.flatMap(({ trial, measurement }): (Row & { halfWidth: number })[] => {
    if (!measurement) return [];
    const { cost } = assess(measurement, trial.candidate, goal);
    const halfWidth = costHalfWidth(measurement, goal);
    return Number.isFinite(cost) ? [{ settings: settings.of(trial.candidate), size: -cost, halfWidth }] : [];
  });
  if (rows.length < 2) return null;
  const noise = Math.SQRT2 * medianOf(rows.map(({ halfWidth }) => halfWidth).filter(Number.isFinite));
  const fit = additiveFit(rows);
  const knobs = settings.names.map((name, index) => knobOf(name, index, rows, fit.effects[index] ?? new Map(), noise));
  const effects = knobs.reduce((sum, { values }) => sum + Math.max(0, values.length - 1), 0);
  return {
    knobs: knobs.sort((a, b) => strength(b) - strength(a)),
    trials: rows.length,
    infeasible: measured.length - feasible.length,
    noiseFactor: Math.exp(noise),
    foretold: fit.foretold,
    isScarce: rows.length < 2 * (effects + 1),
  };
}

const strength = ({ verdict, factor }: KnobImportance): number => (verdict === 'not varied' ? 0 : factor);

function knobOf(
  name: string,
  index: number,
  rows: readonly Row[],
  effects: ReadonlyMap<string, number>,
  noise: number,
): KnobImportance {
  const top = Math.max(...effects.values());
  const values = [...effects]
    .map(([value, effect]) => ({
      value,
      trials: rows.filter(({ settings }) => settings[index] === value).length,
      factor: Math.exp(top - effect),
    }))
    .sort((a, b) => a.factor - b.factor);
  const pairs = pairsOf(rows, index);
  const factor = values.at(-1)?.factor ?? 1;
  const isSeen = Math.log(factor) > noise || (pairs !== null && Math.log(pairs.largest) > noise * luck(pairs.count));
  const verdict = values.length < 2 ? 'not varied' : isSeen ? 'moved' : 'within noise';
  return { name, values, factor, pairs, verdict };
}

function pairsOf(rows: readonly Row[], index: number): KnobImportance['pairs'] {
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

/** How much farther than one pair the farthest of so many may lie by chance (Bonferroni, at 95 %). */
const luck = (count: number): number => probit(1 - 0.025 / count) / probit(0.975);

const medianOf = (values: readonly number[]): number =>
  values.length === 0 ? 0 : ([...values].sort((a, b) => a - b)[values.length >> 1] as number);
