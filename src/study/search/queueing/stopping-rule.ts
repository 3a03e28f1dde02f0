import { formatDuration } from '#base/format.ts';
import { assess, costHalfWidth } from '../../goal/goal.ts';
import { findChosen } from '../../goal/ranking.ts';
import type { Goal, Remaining, Trial } from '../../types.ts';
import type { QueueingOptions } from './search-state.ts';

/** The least expected gain that is worth a trial. A smaller gain counts as none. */
const MIN_GAIN = 0.01;
/**
 * The gain that the next trial must promise, times the number of trials so far: time counts
 * relative to the time already spent. A search must expect a gain of a sixth to take twice as long.
 */
const WORTH_DOUBLING = 0.25;
/** The gain that it must promise once the search takes longer than such searches usually do. */
const WORTH_BEING_LATE = 0.1;
/**
 * The expected gain of the next trial is halved for each this many trials in a row without a gain.
 * With 2, whole studies of 51 problems recommended 2 points less of the optimum (worst tenth 11);
 * without halving as much as with 4, after a sixth more measurements.
 */
const HALVED_AFTER = 4;
/**
 * The multiple of that number if a trial only shows whether a candidate keeps the rate at which it
 * would be cheaper: costs have steps, and most trials bring no gain.
 */
const HALVED_LATER = 3;
/** The largest difference of two logarithms of numbers. */
const MAX_GAIN = Math.log(Number.MAX_VALUE) - Math.log(Number.MIN_VALUE);

/** The input of the stopping rule. */
type StoppingContext = Pick<QueueingOptions, 'goal' | 'leastGain' | 'topology' | 'without'> &
  Pick<Remaining, 'pace'> & {
    /**
     * True if each trial continues to the candidate's own best level: a few such trials are
     * informative, and the next must promise half as much.
     */
    readonly findsCapacities?: boolean;
  };

/**
 * True if the expected gain, halved for every four trials in a row without one, is below the
 * threshold.
 */
export function isHardlyWorth(gain: number, trials: readonly Trial[], context: StoppingContext): boolean {
  return gain * expectationDiscount(trials, context) < requiredGain(trials, context);
}

/**
 * Returns the factor by which the model's expectation counts: half for each four trials in a row
 * that gained nothing.
 */
const expectationDiscount = (trials: readonly Trial[], context: StoppingContext): number =>
  context.pace === 'early' || context.without?.has('diminishing-returns')
    ? 1
    : 0.5 ** (trialsWithoutGain(trials, context.goal) / (HALVED_AFTER * computePatience(context)));

const computePatience = (context: StoppingContext): number =>
  countModels(context) * (context.findsCapacities ? HALVED_LATER : 1);

/**
 * For models that are tuned together: the factor by which a search may be longer, and by which more
 * trials in a row may bring no gain.
 */
const countModels = ({ topology }: StoppingContext): number => Math.max(1, topology?.stages.length ?? 1);

/** Returns the gain that a trial must promise, as a logarithm. */
function requiredGain({ length }: readonly Trial[], context: StoppingContext): number {
  const { leastGain, pace } = context;
  const worthDoubling = WORTH_DOUBLING / (countModels(context) * (context.findsCapacities ? 2 : 1));
  const forItsTime =
    pace === 'early' ? 0 : Math.max(pace === 'late' ? WORTH_BEING_LATE : 0, worthDoubling / Math.max(1, length));
  return Math.log1p(leastGain ?? Math.max(MIN_GAIN, forItsTime));
}

/** Tests the same for a moment after these trials. It computes the gain only if it can matter. */
export function wasHardlyWorth(
  trials: readonly Trial[],
  context: StoppingContext,
  gainAfter: (trials: readonly Trial[]) => number,
): boolean {
  if (isHardlyWorth(MAX_GAIN, trials, context)) return true;
  return isHardlyWorth(0, trials, context) && isHardlyWorth(gainAfter(trials), trials, context);
}

/**
 * Counts the latest trials in a row that improved the best before them by less than 1 %, or by less
 * than the half-width of their interval: on a noisy server the best of many readings keeps rising.
 * A trial that was never served does not count.
 */
function trialsWithoutGain(trials: readonly Trial[], goal: Goal): number {
  let best = Number.POSITIVE_INFINITY;
  let count = 0;
  for (const trial of trials) {
    if (trial.failure !== null && trial.measurements.length === 0) continue;
    const measurement = trial.feasible ? findChosen(trial) : undefined;
    const cost = measurement ? assess(measurement, trial.candidate, goal).cost : Number.POSITIVE_INFINITY;
    const uncertainty = measurement ? costHalfWidth(measurement, trial.candidate, goal) : 0;
    count = cost < best - Math.max(Math.log1p(MIN_GAIN), uncertainty) ? 0 : count + 1;
    best = Math.min(best, cost);
  }
  return count;
}

/**
 * Returns the reason for people: what the next trial costs, `seconds`, and its expected gain, after
 * what the latest trials say about the model's expectation.
 */
export function stopReason(gain: number, trials: readonly Trial[], context: StoppingContext, seconds: number): string {
  const percent = (log: number): string => `${(100 * Math.expm1(log)).toFixed(1)} %`;
  const expected = gain * expectationDiscount(trials, context);
  const costs = `the next trial costs about ${formatDuration(seconds)} and is expected to gain ${percent(expected)}`;
  if (expected < Math.log1p(MIN_GAIN) && gain < Math.log1p(MIN_GAIN)) return costs;
  const worth = `after ${trials.length} trials the next must promise ${percent(requiredGain(trials, context))}`;
  if (gain < requiredGain(trials, context)) return `${costs}; ${worth}`;
  return `${costs}: the model predicts ${percent(gain)}, but the last ${trialsWithoutGain(trials, context.goal)} trials gained nothing; ${worth}`;
}
