import type { Measurement } from '#profiler/measurement.ts';
import { assess } from '../../goal/goal.ts';
import { findChosen } from '../../goal/ranking.ts';
import type { Goal, LevelRange, RunningTrial, Trial } from '../../types.ts';

/**
 * A sweep is saturated when the best of the last four levels has at most 5 % more throughput than
 * the first of them.
 */
const TRIES = 4;
const MIN_GAIN = 1.05;
/** Bisections between the highest feasible level and the lowest infeasible one, at most. */
const MAX_BISECTIONS = 5;
/** Candidates that are bisected: the three best, and the baseline. */
const BISECTED = 3;

/**
 * Returns the next level of the running trial, or null for none. Model Analyzer's rules: doublings
 * from the low end of the range, whatever the constraints, until of the last four levels the best
 * has at most 5 % more throughput than the first, or a level could not be measured; then at most
 * five bisections between the last feasible level and the first infeasible one, for the three best
 * candidates and the baseline. Two differences: the high end of the range is measured too, and
 * since no candidate is tried twice, the three best are the best so far.
 */
export function nextInSweep(
  running: RunningTrial,
  trials: readonly Trial[],
  goal: Goal,
  range: LevelRange,
): number | null {
  const made = running.measurements;
  const sweep = made.slice(0, sweepLength(made, range));
  const last = sweep.at(-1);
  if (last === undefined) return range.low;
  if (!isOver(sweep, range)) return Math.min(range.high, 2 * last.level.value);
  const bisections = made.length - sweep.length;
  if (bisections >= MAX_BISECTIONS || !isAmongBest(running, trials, goal)) return null;
  return middleOfBracket(running, goal, range);
}

/** Returns the number of measurements, from the first, that belong to the doublings. */
function sweepLength(made: readonly Measurement[], range: LevelRange): number {
  const end = made.findIndex((_, index) => isOver(made.slice(0, index + 1), range));
  return end < 0 ? made.length : end + 1;
}

function isOver(sweep: readonly Measurement[], range: LevelRange): boolean {
  const last = sweep.at(-1) as Measurement;
  return last.level.value >= range.high || !isSound(last) || isSaturated(sweep.slice(-TRIES));
}

function isSaturated(tries: readonly Measurement[]): boolean {
  const rates = tries.map(({ throughput }) => throughput.value);
  return rates.length === TRIES && Math.max(...rates) <= MIN_GAIN * (rates[0] as number);
}

/** True for the baseline, and unless three candidates did better already. */
function isAmongBest(running: RunningTrial, trials: readonly Trial[], goal: Goal): boolean {
  if (running.role === 'baseline') return true;
  const cheapest = Math.min(...feasibleCosts(running.measurements, running, goal));
  const better = trials.filter((trial) => {
    const chosen = findChosen(trial);
    return trial.role === 'search' && chosen && Math.min(...feasibleCosts([chosen], trial, goal)) < cheapest;
  });
  return better.length < BISECTED;
}

function feasibleCosts(
  measurements: readonly Measurement[],
  { candidate }: Pick<Trial, 'candidate'>,
  goal: Goal,
): number[] {
  const assessments = measurements.map((each) => assess(each, candidate, goal));
  return assessments.filter(({ feasible }) => feasible).map(({ cost }) => cost);
}

/**
 * Returns the middle between the highest feasible level and the lowest infeasible one above it;
 * null when there is none between them.
 */
function middleOfBracket({ measurements, candidate }: RunningTrial, goal: Goal, range: LevelRange): number | null {
  const sound = measurements.filter(isSound);
  const levelsThat = (meet: boolean): number[] =>
    sound.filter((each) => assess(each, candidate, goal).feasible === meet).map(({ level }) => level.value);
  const pass = Math.max(...levelsThat(true));
  const miss = Math.min(...levelsThat(false).filter((level) => level > pass));
  const middle = (pass + miss) / 2;
  if (!Number.isFinite(middle)) return null;
  const level = range.mode === 'concurrency' ? Math.floor(middle) : Number(middle.toPrecision(3));
  return level > pass && level < miss ? level : null;
}

const isSound = ({ throughput, tooManyErrors, client }: Measurement): boolean =>
  throughput.value > 0 && tooManyErrors !== true && !client.bound;
