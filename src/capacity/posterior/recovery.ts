import { computeWeights, logSum } from '#stats/log-weights.ts';
import { chanceBelow } from '#stats/normal.ts';
import type { CourseWindow } from '../loads.ts';
import type { BurstQuestion } from '../question.ts';
import { type CapacityPosterior, logPriorAt, posteriorOn } from './posterior.ts';
import type { CapacityPrior } from './prior.ts';

/** A played burst that may be recovered from. */
export interface PlayedRecovery {
  /** The base rate. */
  readonly perSecond: number;
  readonly windows: readonly CourseWindow[];
  /** The logarithm of the server's speed relative to its usual one. */
  readonly logSpeed: number;
}

/** The points of the grid over the logarithm of the base rate. */
const POINTS = 300;
/**
 * Candidate scatters of a play, as logarithms of the base rate: mostly the luck of its arrivals.
 */
const SCATTERS = [0.01, 0.03, 0.1] as const;
/**
 * A fluid is right near the time asked for only: the uncertainty of a play, as a part of its
 * distance, both as logarithms.
 */
const MISFIT = 0.2;
/** The chance that a play says nothing, because the server was held up. */
const HELD_UP = 0.02;
/**
 * The error of the model beyond its own uncertainty, as a standard deviation of the logarithm: a
 * window is late or not as a whole.
 */
const MODEL_SD = 0.008;

/**
 * When a server recovered, in seconds after the burst's end: no earlier than `from`, and by `to`.
 * null if not while it was played.
 */
interface Recovered {
  readonly from: number;
  readonly to: number | null;
}

/**
 * Returns when the windows after a burst came back within the budget: the moment with the fewest
 * late windows after it and others before it. A single late window long after is chance.
 */
function recovered(windows: readonly CourseWindow[], seconds: number, budgetMs: number): Recovered {
  const after = windows.filter(({ endSeconds }) => endSeconds > seconds);
  const isLate = after.map(({ percentileMs }) => percentileMs > budgetMs);
  let errors = isLate.filter(Boolean).length;
  let [least, count] = [errors, 0];
  for (const [index, late] of isLate.entries()) {
    errors += late ? -1 : 1;
    if (errors < least) [least, count] = [errors, index + 1];
  }
  const findEnd = (index: number): number => Math.max(0, (after[index]?.endSeconds ?? 0) - seconds);
  if (count === 0) return { from: 0, to: 0 };
  return count === after.length
    ? { from: findEnd(count - 1), to: null }
    : { from: findEnd(count - 2), to: findEnd(count - 1) };
}

/**
 * Returns the seconds after the burst's end at which the latency was back within the budget; null
 * if it was not while the burst was played.
 */
export const recoveredAfter = (windows: readonly CourseWindow[], seconds: number, budgetMs: number): number | null =>
  recovered(windows, seconds, budgetMs).to;

/**
 * Returns the base rate that is recovered from in a time, as a share of the capacity. It takes
 * requests as a fluid: a burst of factor f over D seconds on the base rate b leaves a backlog of (f
 * b − c) D, which is served in T seconds if (f b − c) D = (c − b) T.
 */
export const recoverableShare = (
  { factor, seconds }: Pick<BurstQuestion, 'factor' | 'seconds'>,
  tookSeconds: number,
): number => (seconds + tookSeconds) / (factor * seconds + tookSeconds);

/**
 * Returns the base rate at which a server that recovered in some seconds would do so in those asked
 * for.
 */
export const baseRateFor = (
  perSecond: number,
  burst: Pick<BurstQuestion, 'factor' | 'seconds'>,
  tookSeconds: number,
  askedSeconds: number,
): number => (perSecond / recoverableShare(burst, tookSeconds)) * recoverableShare(burst, askedSeconds);

/**
 * Returns the posterior of the base rate that is recovered from in time: from how long each play
 * took, not only from whether it was in time.
 */
export function recoveryPosterior(
  plays: readonly PlayedRecovery[],
  prior: CapacityPrior,
  burst: Pick<BurstQuestion, 'factor' | 'seconds'>,
  { recoverSeconds, budgetMs }: { readonly recoverSeconds: number; readonly budgetMs: number },
): CapacityPosterior {
  const [low, high] = [Math.log(prior.low), Math.log(prior.high)];
  const logs = Array.from({ length: POINTS }, (_, at) => low + ((high - low) * at) / (POINTS - 1));
  const observations = plays.map((play) => reportedBy(play, burst, recoverSeconds, budgetMs));
  const weights = computeWeights(
    logs.map((log) =>
      logSum(
        SCATTERS.map((scatter) => observations.reduce((sum, of) => sum + of(log, scatter), logPriorAt(log, prior))),
      ),
    ),
  );
  return posteriorOn({ logs, weights, gap: 0, allowed: prior.allowed, modelSd: MODEL_SD });
}

/** Returns the log likelihood of a play, by the logarithm of the true base rate and the scatter. */
function reportedBy(
  { perSecond, windows, logSpeed }: PlayedRecovery,
  burst: Pick<BurstQuestion, 'factor' | 'seconds'>,
  recoverSeconds: number,
  budgetMs: number,
): (log: number, scatter: number) => number {
  const impliedBy = (tookSeconds: number): number =>
    Math.log(baseRateFor(perSecond, burst, tookSeconds, recoverSeconds)) - logSpeed;
  const logRate = Math.log(perSecond) - logSpeed;
  const sdAt = (log: number, scatter: number): number => Math.hypot(scatter, MISFIT * Math.abs(log - logRate));
  const { from, to } = recovered(windows, burst.seconds, budgetMs);
  // Not recovered by the end: the base rate is lower than if it had been then. Never late after the
  // burst: it is higher than if it had just been.
  if (to === null || to === 0) {
    const [bound, side] = [impliedBy(from), to === null ? 1 : -1];
    return (log, scatter) =>
      Math.log(HELD_UP + (1 - HELD_UP) * chanceBelow((side * (bound - log)) / sdAt(log, scatter)));
  }
  const implied = impliedBy((from + to) / 2);
  return (log, scatter) => {
    const sd = sdAt(log, scatter);
    return Math.log(HELD_UP + ((1 - HELD_UP) * Math.exp(-(((implied - log) / sd) ** 2) / 2)) / sd);
  };
}
