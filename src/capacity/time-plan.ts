import type { Clock } from '../base/clock.ts';
import { NS_PER_S } from '../base/units.ts';
import type { CapacityLimit } from './reading.ts';

/** The deadlines of a run, as times of its clock in nanoseconds. Each part leaves time for those after it. */
export interface TimePlan {
  /** The closed loops end then. */
  readonly scoutingEndNs: number;
  /** The readings of the search end then; the measurement at the capacity takes about twice as long as the last of them. */
  searchEndNs(lastReadingSeconds: number): number;
  /** The measurement at the capacity ends then. */
  readonly answerEndNs: number;
  /** The loads beyond the capacity end then. */
  readonly endNs: number;
  /** The shortest load that is worth its time, in seconds: a whole pass of a workload. */
  readonly leastSeconds: number;
  /** True if there is time for a load until then. */
  hasTimeUntil(endNs: number): boolean;
}

/** The shares of the time that the closed loops may take, and that are kept for each of the other two parts at most. */
const SCOUTING_SHARE = 0.25;
const KEPT_SHARE = 0.25;
/** The measurement at the capacity has up to twice the windows of a reading. */
const ANSWER_TIMES = 2;
/** A shorter load says nothing. */
const LEAST_SECONDS = 2;
/** Seconds of a load beyond the capacity: this many budgets, within bounds; and what its warm-up and its queue take besides. */
const BEYOND_BUDGETS = 20;
const BEYOND_SECONDS = { least: 5, most: 30 } as const;
const BEYOND_SHORTEST = 1;
const BESIDE_SECONDS = 1;

/** Returns the seconds of a load beyond the capacity when there is time enough. `passSeconds`: of a workload; null for rates. */
export function secondsBeyond(limit: CapacityLimit, passSeconds: number | null): number {
  if (passSeconds !== null) return passSeconds;
  const wanted = limit.kind === 'latency' ? (BEYOND_BUDGETS * limit.budgetMs) / 1e3 : BEYOND_SECONDS.least;
  return Math.min(Math.max(wanted, BEYOND_SECONDS.least), BEYOND_SECONDS.most);
}

/** Returns the seconds that a load beyond the capacity can have if `loads` of them must end in time; null if that is too short. */
export function secondsLeftBeyond(
  { endNs }: Pick<TimePlan, 'endNs'>,
  nowNs: number,
  { loads, wanted, isWhole }: { readonly loads: number; readonly wanted: number; readonly isWhole: boolean },
): number | null {
  const each = (endNs - nowNs) / NS_PER_S / loads - BESIDE_SECONDS;
  if (each >= wanted) return wanted;
  return isWhole || each < BEYOND_SHORTEST ? null : each;
}

/** What the parts of a run want of the time. */
export interface TimeAsked {
  /** Seconds for everything but bursts. */
  readonly mostSeconds: number;
  /** The number of loads beyond the capacity, and the seconds of each. */
  readonly beyond: { readonly loads: number; readonly seconds: number };
  /** Seconds of a whole measurement of a workload; null for rates, whose measurements can be of any length. */
  readonly passSeconds: number | null;
}

/** Divides the time from now. */
export function timePlan(clock: Clock, { mostSeconds, beyond, passSeconds }: TimeAsked): TimePlan {
  const startNs = clock.nowNs();
  const after = (seconds: number): number => startNs + seconds * NS_PER_S;
  const most = KEPT_SHARE * mostSeconds;
  const wanted = Math.min(most, beyond.loads * (beyond.seconds + BESIDE_SECONDS));
  const isEnough = wanted / beyond.loads >= BESIDE_SECONDS + BEYOND_SHORTEST;
  const answerEndNs = after(mostSeconds - (isEnough ? wanted : 0));
  const leastSeconds = Math.max(LEAST_SECONDS, passSeconds ?? 0);
  return {
    scoutingEndNs: after(SCOUTING_SHARE * mostSeconds),
    searchEndNs: (lastReadingSeconds) => answerEndNs - Math.min(most, ANSWER_TIMES * lastReadingSeconds) * NS_PER_S,
    answerEndNs,
    endNs: after(mostSeconds),
    leastSeconds,
    hasTimeUntil: (endNs) => clock.nowNs() + leastSeconds * NS_PER_S <= endNs,
  };
}
