import { type Choice, choiceOf } from '../../../perfmodel/modelled-config.ts';
import type { Goal, RunningTrial } from '../../types.ts';
import {
  type AcquisitionContext,
  type AcquisitionPoint,
  acquisitionPointsOf,
  pointValueOf,
  ranked,
} from './acquisition.ts';
import { isFarFrom } from './candidate-levels.ts';
import { incumbentOf } from './incumbent.ts';
import type { SearchState } from './search-state.ts';

/** A candidate's own best level is found when no other level promises an improvement of more than this. */
const WORTH_A_LEVEL = 0.05;
/** Another level of the served candidate is not worth its time below this expected improvement over the incumbent. */
const WORTH_STAYING = 0.02;

/** Returns the next level in the search for the running candidate's own best one; null when that is found. */
export function ownLevel({ posterior, context }: SearchState, running: RunningTrial, goal: Goal): number | null {
  const choice = choiceOf(running.candidate);
  const { best } = incumbentOf([{ choice, measurements: running.measurements }], posterior, goal, context.without);
  const next = ranked(closeBy(choice, running, context, best, goal), best, context.without)[0];
  if (!next || (best !== null && pointValueOf(next.point, best, 1).improvement < WORTH_A_LEVEL)) return null;
  return next.point.level;
}

/** Returns another level of the running trial where its acquisition value is higher than every other candidate's; null otherwise. */
export function worthStaying(
  { context, points, best, running: choice }: SearchState,
  running: RunningTrial,
  goal: Goal,
): number | null {
  if (!choice) return null;
  const own = closeBy(choice, running, context, best, goal);
  const next = ranked([...own, ...points], best, context.without)[0];
  if (!next || !own.includes(next.point)) return null;
  if (best !== null && next.improvement < WORTH_STAYING) return null;
  return next.point.level;
}

/**
 * Returns the points of the running candidate that say something new: not next to a measured level, nor above one that was over the budget.
 */
function closeBy(
  choice: Choice,
  { measurements }: RunningTrial,
  context: AcquisitionContext,
  best: number | null,
  goal: Goal,
): AcquisitionPoint[] {
  const measured = measurements.map(({ level }) => level.value);
  const late = measurements.filter(
    ({ budgetLatencyMs }) => goal.budget && budgetLatencyMs.value > goal.budget.latencyMs,
  );
  const tooSlow = Math.min(...late.map(({ level }) => level.value));
  // With a queue delay, more traffic fills batches sooner and can have a lower latency.
  const filled = choice.delayUs === 0 ? 0 : choice.policy.instances * choice.largestBatch;
  const isSlower = (level: number): boolean => level > tooSlow && tooSlow >= filled;
  return acquisitionPointsOf(
    [choice],
    {
      ...context,
      isKnown: (_, level) => !isFarFrom(level, measured) || isSlower(level),
      // The original config's own best level is searched for even where it is far below the incumbent.
      isTooLow: () => false,
    },
    best,
  );
}
