import type { PendingPoint } from '#perfmodel/correction.ts';
import type { MeasuredChoice } from '#perfmodel/service-model.ts';
import { assess, isFeasible } from '../../goal/goal.ts';
import type { Goal } from '../../types.ts';
import { NOTHING, type Without } from './mechanisms.ts';
import type { PosteriorModel } from './posterior-model.ts';

/** The cost of the incumbent, as a logarithm; null while nothing is feasible. */
export interface Incumbent {
  /**
   * For expected improvement: min(posterior mean cost − ln P(feasible)) over the feasible readings.
   */
  readonly best: number | null;
  /**
   * The same without the penalty where P(feasible) ≥ 2/3. The stopping rule uses it, because the
   * final measures the best again anyway.
   */
  readonly found: number | null;
}

/** The least probability that a feasible reading is given of truly being feasible. */
const MIN_COUNTED = 0.01;
/** From this probability on the stopping rule takes a reading at its word. */
const SURE_ENOUGH = 2 / 3;

const penalized = (cost: number, chance: number): number => cost - Math.log(Math.max(MIN_COUNTED, chance));

/**
 * Returns the incumbent's cost over all feasible readings; `best` also over the expected results of
 * points that are being measured.
 */
export function findIncumbent(
  measured: readonly MeasuredChoice[],
  posterior: PosteriorModel,
  goal: Goal,
  without: Without = NOTHING,
  pending: readonly PendingPoint[] = [],
): Incumbent {
  const costs = measured.flatMap(({ choice, measurements }) =>
    measurements.flatMap((measurement) => {
      if (!isFeasible(measurement, choice.candidate, goal)) return [];
      const prediction = posterior.predict(choice, measurement.level.value);
      if (!prediction || without.has('false-feasible'))
        return [{ cost: assess(measurement, choice.candidate, goal).cost, chance: 1 }];
      return [{ cost: prediction.cost.mean, chance: Math.max(MIN_COUNTED, prediction.feasibleChance(1)) }];
    }),
  );
  if (costs.length === 0) return { best: null, found: null };
  const awaited = pending.flatMap(({ choice, level }) => {
    const prediction = posterior.predict(choice, level);
    return prediction ? [penalized(prediction.cost.mean, prediction.feasibleChance(1))] : [];
  });
  return {
    best: Math.min(...costs.map(({ cost, chance }) => penalized(cost, chance)), ...awaited),
    found: Math.min(...costs.map(({ cost, chance }) => (chance < SURE_ENOUGH ? cost - Math.log(chance) : cost))),
  };
}
