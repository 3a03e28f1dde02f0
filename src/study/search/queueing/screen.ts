import { seededRandom } from '#base/random.ts';
import type { Choice } from '#perfmodel/modelled-config.ts';
import type { BoundLimits, ServiceModel } from '#perfmodel/service-model.ts';
import type { DeviceMetrics } from '#profiler/server-figures.ts';
import { toMetrics } from '../../goal/metrics/registry.ts';
import type { Goal, LevelRange } from '../../types.ts';

/**
 * Candidates that are simulated for one proposal: the best by a bound on their throughput, and some
 * at random.
 */
const MAX_BY_BOUND = 120;
const MAX_AT_RANDOM = 30;

/**
 * Returns at most 150 choices to simulate: those with the highest bound on throughput within the
 * budget, and 30 seeded random ones.
 */
export function screened(
  choices: readonly Choice[],
  serviceModel: ServiceModel,
  goal: Goal,
  { seed, levels, device }: { readonly seed: number; readonly levels: LevelRange; readonly device?: DeviceMetrics },
): readonly Choice[] {
  if (choices.length <= MAX_BY_BOUND + MAX_AT_RANDOM) return choices;
  const bounded = byBound(choices, serviceModel, goal, levels, device);
  const random = seededRandom(seed);
  const rest = bounded.slice(MAX_BY_BOUND);
  const drawn = Array.from({ length: MAX_AT_RANDOM }, () => rest[random.int(0, rest.length - 1)] as Choice);
  return [...bounded.slice(0, MAX_BY_BOUND), ...new Set(drawn)];
}

/**
 * Sorts choices by the bound on their throughput within the budget, the highest first. If the goal
 * is a cost that follows from throughput, sorts by the bound on the cost, the lowest first.
 */
export function byBound(
  choices: readonly Choice[],
  serviceModel: ServiceModel,
  goal: Goal,
  levels: LevelRange,
  device: DeviceMetrics = {},
): Choice[] {
  const limits = toLimits(goal, levels);
  return choices
    .map((choice) => ({ choice, bound: computeWorth(goal, choice, serviceModel.bound(choice, limits), device) }))
    .sort((a, b) => b.bound - a.bound)
    .map(({ choice }) => choice);
}

const toLimits = ({ budget }: Goal, { batch, high }: LevelRange): BoundLimits => {
  return {
    limitNs: budget ? budget.latencyMs * 1e6 : Number.POSITIVE_INFINITY,
    requests: batch ? { largest: batch.high, inFlight: high } : null,
  };
};

/**
 * Returns a lower bound on each choice's cost, a logarithm, from the bound on its throughput; null
 * where the goal has other objectives and there are choices.
 */
export function boundInCost(
  choices: readonly Choice[],
  serviceModel: ServiceModel,
  goal: Goal,
  levels: LevelRange,
): readonly number[] | null {
  if (choices.length === 0) return [];
  if (goal.objectives.length > 1 || goal.objectives[0]?.metric !== 'throughput') return null;
  const limits = toLimits(goal, levels);
  return choices.map((choice) => -Math.log(1e9 * serviceModel.bound(choice, limits)));
}

/**
 * Returns the sort key of a choice: its throughput, or the throughput per unit of the cost that
 * follows from it.
 */
function computeWorth(goal: Goal, { candidate }: Choice, throughput: number, device: DeviceMetrics): number {
  const [only, ...others] = goal.objectives;
  const follows = only && others.length === 0 ? toMetrics(goal).named(only.metric).follows : undefined;
  if (follows?.from.join() !== 'throughput') return throughput;
  const cost = (follows.smooth ?? follows.of)([throughput], candidate, device);
  return cost === undefined ? 0 : 1 / cost;
}
