import { type Choice, toChoice } from '#perfmodel/modelled-config.ts';
import { measuredChoices } from '#perfmodel/service-model.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { missedTimes } from '../../goal/goal.ts';
import type { Goal, LevelPoint, RunningTrial } from '../../types.ts';
import {
  type AcquisitionContext,
  type AcquisitionPoint,
  computePointValue,
  listAcquisitionPoints,
  ranked,
} from './acquisition.ts';
import { isFarFrom } from './candidate-levels.ts';
import { findIncumbent } from './incumbent.ts';
import type { SearchState } from './search-state.ts';

/**
 * A candidate's own best level is found when no other level promises an improvement of more than
 * this, …
 */
const WORTH_A_LEVEL = 0.05;
/**
 * … or of more than staying is worth, if its cost is within this of the incumbent's, so that it may
 * itself be the best.
 */
const RIVAL = 0.25;
/**
 * Another level of the served candidate is not worth its time below this expected improvement over
 * the incumbent.
 */
const WORTH_STAYING = 0.02;

/**
 * Returns the next level in the search for the running candidate's own best one; null when that is
 * found.
 */
export function ownLevel(
  { posterior, context, best: incumbent }: SearchState,
  running: RunningTrial,
  goal: Goal,
): number | LevelPoint | null {
  const choice = toChoice(running.candidate);
  const measured = measuredChoices(running.candidate, running.measurements);
  const { best } = findIncumbent(measured, posterior, goal, context.without);
  const next = ranked(closeBy(choice, running, context, best, goal), best)[0];
  if (!next) return null;
  if (best === null) return toLevel(next.point);
  const least = incumbent !== null && best < incumbent + RIVAL ? WORTH_STAYING : WORTH_A_LEVEL;
  return computePointValue(next.point, best, 1).improvement < least ? null : toLevel(next.point);
}

/**
 * Returns another level of the running trial where its acquisition value is higher than every other
 * candidate's; null otherwise.
 */
export function worthStaying(
  { context, points, best, running: choice }: SearchState,
  running: RunningTrial,
  goal: Goal,
): number | LevelPoint | null {
  if (!choice) return null;
  const acquisitionPoints = closeBy(choice, running, context, best, goal);
  const next = ranked([...acquisitionPoints, ...points], best)[0];
  if (!next || !acquisitionPoints.includes(next.point)) return null;
  if (best !== null && next.improvement < WORTH_STAYING) return null;
  return toLevel(next.point);
}

const toLevel = ({ choice: { clientBatch }, level }: AcquisitionPoint): number | LevelPoint =>
  clientBatch === null ? level : { value: level, batch: clientBatch };

/**
 * Returns the points of the running candidate that are informative: not next to a measured level,
 * nor above one that missed a limit on a time.
 */
function closeBy(
  choice: Choice,
  { measurements }: RunningTrial,
  context: AcquisitionContext,
  best: number | null,
  goal: Goal,
): AcquisitionPoint[] {
  const isAtBatch =
    (batch: number | null) =>
    ({ level }: Measurement): boolean =>
      (level.batch ?? null) === batch;
  const listValues = (measurements: readonly Measurement[]): number[] => measurements.map(({ level }) => level.value);
  const late = measurements.filter((each) => missedTimes(each, choice.candidate, goal).length > 0);
  // With a queue delay, more traffic fills batches sooner and can have a lower latency.
  const filled = choice.delayUs === 0 ? 0 : choice.policy.instances * choice.largestBatch;
  const isSlower = ({ clientBatch }: Choice, level: number): boolean => {
    const slower = late.filter(({ level: { batch = 1, value } }) => (clientBatch ?? 1) > batch && level >= value);
    const tooSlow = Math.min(...listValues(late.filter(isAtBatch(clientBatch))));
    return slower.length > 0 || (level > tooSlow && tooSlow >= filled);
  };
  return listAcquisitionPoints(
    [choice],
    {
      ...context,
      isKnown: (at, level) =>
        !isFarFrom(level, listValues(measurements.filter(isAtBatch(at.clientBatch)))) || isSlower(at, level),
      // The original config's own best level is searched for even where it is far below the
      // incumbent.
      isTooLow: () => false,
    },
    best,
  );
}
