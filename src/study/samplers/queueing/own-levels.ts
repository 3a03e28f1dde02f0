import { type Choice, choiceOf } from '../../../perfmodel/modelled-config.ts';
import type { Goal, RunningTrial } from '../../types.ts';
import { isFarFrom } from './levels-of.ts';
import { type Field, type Prospect, prospectsOf, ranked, worthOf } from './prospects.ts';
import { lowestCosts, type Sight } from './sight.ts';

/** A candidate's own best level is found when no other promises to better it by more than this. */
const WORTH_A_LEVEL = 0.05;
/** Another level of a candidate that is on the server is not worth its time below this gain over the best. */
const WORTH_STAYING = 0.02;

/** The next level of the running trial by itself: what promises to better its own best. */
export function ownLevel({ forecast, field }: Sight, running: RunningTrial, goal: Goal): number | null {
  const choice = choiceOf(running.candidate);
  const { best } = lowestCosts([{ choice, measurements: running.measurements }], forecast, goal, field.without);
  const next = ranked(closeBy(choice, running, field, best, goal), best, field.without)[0];
  if (!next || (best !== null && worthOf(next.prospect, best, 1).gain < WORTH_A_LEVEL)) return null;
  return next.prospect.level;
}

/** Another level of the running trial, where that is worth more for its time than any other candidate. */
export function worthStaying(
  { field, prospects, best, running: choice }: Sight,
  running: RunningTrial,
  goal: Goal,
): number | null {
  if (!choice) return null;
  const own = closeBy(choice, running, field, best, goal);
  const next = ranked([...own, ...prospects], best, field.without)[0];
  if (!next || !own.includes(next.prospect)) return null;
  if (best !== null && next.gain < WORTH_STAYING) return null;
  return next.prospect.level;
}

/** Levels that say something new: not beside a measured one, nor beyond one that was too slow already. */
function closeBy(
  choice: Choice,
  { measurements }: RunningTrial,
  field: Field,
  best: number | null,
  goal: Goal,
): Prospect[] {
  const measured = measurements.map(({ level }) => level.value);
  const late = measurements.filter(
    ({ budgetLatencyMs }) => goal.budget && budgetLatencyMs.value > goal.budget.latencyMs,
  );
  const tooSlow = Math.min(...late.map(({ level }) => level.value));
  // With a delay, more traffic that fills its batches can be faster than less.
  const filled = choice.delayUs === 0 ? 0 : choice.policy.instances * choice.largestBatch;
  const isSlower = (level: number): boolean => level > tooSlow && tooSlow >= filled;
  return prospectsOf(
    [choice],
    {
      ...field,
      isKnown: (_, level) => !isFarFrom(level, measured) || isSlower(level),
      // Its own best level is asked for, also of an original config that is far behind the best of the search.
      isTooLow: () => false,
    },
    best,
  );
}
