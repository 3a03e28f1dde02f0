import { seededRandom } from '../../../base/random.ts';
import { type Choice, largestRequest } from '../../../perfmodel/modelled-config.ts';
import type { Simulator } from '../../../perfmodel/simulator.ts';
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
  const limitNs = budget ? budget.latencyMs * 1e6 : Number.POSITIVE_INFINITY;
  const bounded = choices
    .map((choice) => ({ choice, bound: boundOf(choice, simulator, levels, limitNs) }))
    .sort((a, b) => b.bound - a.bound)
    .map(({ choice }) => choice);
  const random = seededRandom(seed);
  const rest = bounded.slice(MOST_BY_BOUND);
  const drawn = Array.from({ length: MOST_AT_RANDOM }, () => rest[random.int(0, rest.length - 1)] as Choice);
  return [...bounded.slice(0, MOST_BY_BOUND), ...new Set(drawn)];
}

/**
 * Returns an upper bound on throughput, in samples per nanosecond: all instances busy, execution times one standard deviation below their
 * mean, and the best batch size whose execution ends within `limitNs`.
 */
function boundOf(choice: Choice, simulator: Simulator, levels: LevelRange, limitNs: number): number {
  const { policy } = choice;
  // A request of several samples is a batch by itself, and no more instances are busy than there are requests.
  const whole = levels.batch ? Math.min(levels.batch.high, largestRequest(choice)) : 1;
  const instances = levels.batch ? Math.min(policy.instances, levels.high) : policy.instances;
  let best = 0;
  for (let batch = Math.max(choice.largestBatch, whole); batch >= 1; batch = Math.floor(batch / 2)) {
    const executionNs = simulator.executionNs(choice, batch) * Math.exp(-simulator.uncertaintyAt(choice, batch));
    const rate = (instances * batch) / executionNs;
    best = Math.max(best, executionNs <= limitNs ? rate : rate / 1e3);
  }
  return best;
}
