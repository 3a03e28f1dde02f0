import { seededRandom } from '../../../base/random.ts';
import type { Choice } from '../../../perfmodel/modelled-config.ts';
import type { BoundLimits, Simulator } from '../../../perfmodel/simulator.ts';
import type { Goal, LevelRange } from '../../types.ts';

/** Candidates that are simulated for one proposal: the best by a bound on their throughput, and some at random. */
const MOST_BY_BOUND = 120;
const MOST_AT_RANDOM = 30;

/** Returns at most 150 choices to simulate: those with the highest bound on throughput within the budget, and 30 seeded random ones. */
export function screened(
  choices: readonly Choice[],
  simulator: Simulator,
  { budget }: Goal,
  { seed, levels }: { readonly seed: number; readonly levels: LevelRange },
): readonly Choice[] {
  if (choices.length <= MOST_BY_BOUND + MOST_AT_RANDOM) return choices;
  const bounded = byBound(choices, simulator, budget, levels);
  const random = seededRandom(seed);
  const rest = bounded.slice(MOST_BY_BOUND);
  const drawn = Array.from({ length: MOST_AT_RANDOM }, () => rest[random.int(0, rest.length - 1)] as Choice);
  return [...bounded.slice(0, MOST_BY_BOUND), ...new Set(drawn)];
}

/** Sorts choices by the bound on their throughput within the budget, the highest first. */
export function byBound(
  choices: readonly Choice[],
  simulator: Simulator,
  budget: Goal['budget'],
  { batch, high }: LevelRange,
): Choice[] {
  const limits: BoundLimits = {
    limitNs: budget ? budget.latencyMs * 1e6 : Number.POSITIVE_INFINITY,
    requests: batch ? { largest: batch.high, inFlight: high } : null,
  };
  return choices
    .map((choice) => ({ choice, bound: simulator.bound(choice, limits) }))
    .sort((a, b) => b.bound - a.bound)
    .map(({ choice }) => choice);
}
