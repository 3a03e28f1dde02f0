import type { Clock } from '#base/clock.ts';
import { MS_PER_S, NS_PER_S } from '#base/units.ts';
import type { CapacityLimit } from './reading.ts';

/** How long the last load took, in seconds. */
export interface LoadPace {
  /** Its windows, those included that a pause of the load generator spoiled. */
  readonly windowsSeconds: number;
  /** Its warm-up and its last replies. */
  readonly besideSeconds: number;
}

/**
 * The deadlines of a run, as times of its clock in nanoseconds. Each part leaves time for those
 * after it, by the pace of the loads so far.
 */
export interface TimePlan {
  /**
   * Returns when a closed loop ends. The first one leaves time for others, because a single request
   * in flight says least.
   */
  closedLoopEndNs(attempt: 'first' | 'first-again' | 'later'): number;
  /** True if the time for closed loops is over. */
  isScoutingOver(): boolean;
  /** Returns when the readings of the search end. */
  searchEndNs(pace: LoadPace): number;
  /** Returns when the measurement at the capacity ends. */
  answerEndNs(pace: LoadPace): number;
  /** The seconds of a load beyond the capacity if there is time enough. */
  readonly targetBeyond: number;
  /**
   * Returns the seconds of each load beyond the capacity, `loads` in number; null if the time left
   * is too short for them.
   */
  beyondSeconds(loads: number, pace: LoadPace): number | null;
  /** All loads but bursts end then. */
  readonly endNs: number;
  /** True if a load that ends then is worth its time. */
  hasTimeUntil(endNs: number, pace: LoadPace): boolean;
}

/** The pace before any load. */
export const FIRST_PACE: LoadPace = { windowsSeconds: 0, besideSeconds: 1 };

/** The part of the time for closed loops, and the part for a single reply. */
const SCOUTING_SHARE = 0.25;
const FIRST_REPLY_SHARE = 0.5;
/**
 * The largest part that is kept for the measurement at the capacity, and for the loads beyond it.
 */
const KEPT_SHARE = 0.25;
/** The measurement at the capacity has up to twice the windows of a reading. */
const ANSWER_TIMES = 2;
/** A shorter load, or a shorter part of the last one, says nothing. */
const MIN_SECONDS = 2;
const MIN_PART = 0.5;
/**
 * Seconds of a load beyond the capacity: this many budgets, within bounds; and the least that is
 * worth its time.
 */
const BEYOND_BUDGETS = 20;
const BEYOND_SECONDS = { least: 5, most: 30 } as const;
const BEYOND_SHORTEST = 1;

/** What the parts of a run want of the time. */
export interface TimeAsked {
  /** Seconds for everything but bursts. */
  readonly mostSeconds: number;
  readonly limit: CapacityLimit;
  /** The number of loads beyond the capacity. */
  readonly loadsBeyond: number;
  /**
   * Seconds of a whole measurement of a workload; null for rates, whose measurements can be of any
   * length.
   */
  readonly passSeconds: number | null;
}

/** Divides the time from now. */
export function timePlan(clock: Clock, { mostSeconds, limit, loadsBeyond, passSeconds }: TimeAsked): TimePlan {
  const startNs = clock.nowNs();
  const after = (seconds: number): number => startNs + seconds * NS_PER_S;
  const [endNs, scoutingEndNs] = [after(mostSeconds), after(SCOUTING_SHARE * mostSeconds)];
  const cliffSeconds = passSeconds ?? secondsBeyond(limit);
  const most = KEPT_SHARE * mostSeconds;
  const kept = ({ besideSeconds }: LoadPace): number => {
    const all = Math.min(most, loadsBeyond * (cliffSeconds + besideSeconds));
    return isWorth(all / loadsBeyond - besideSeconds) ? all : 0;
  };
  // A workload is played whole or not at all.
  const isWorth = (seconds: number): boolean => seconds >= (passSeconds ?? BEYOND_SHORTEST);
  const answerEndNs = (pace: LoadPace): number => endNs - kept(pace) * NS_PER_S;
  return {
    closedLoopEndNs: (attempt) => {
      if (attempt === 'first-again') return after(FIRST_REPLY_SHARE * mostSeconds);
      return attempt === 'first' ? (clock.nowNs() + scoutingEndNs) / 2 : scoutingEndNs;
    },
    isScoutingOver: () => clock.nowNs() >= scoutingEndNs,
    searchEndNs: (pace) => {
      const answer = ANSWER_TIMES * pace.windowsSeconds + pace.besideSeconds;
      return answerEndNs(pace) - Math.min(most, answer) * NS_PER_S;
    },
    answerEndNs,
    targetBeyond: cliffSeconds,
    beyondSeconds: (loads, { besideSeconds }) => {
      const each = (endNs - clock.nowNs()) / NS_PER_S / loads - besideSeconds;
      return isWorth(each) ? Math.min(each, cliffSeconds) : null;
    },
    endNs,
    hasTimeUntil: (untilNs, { windowsSeconds, besideSeconds }) => {
      const least = passSeconds ?? Math.max(MIN_SECONDS, MIN_PART * windowsSeconds + besideSeconds);
      return clock.nowNs() + least * NS_PER_S <= untilNs;
    },
  };
}

function secondsBeyond(limit: CapacityLimit): number {
  const budgets = limit.kind === 'latency' ? (BEYOND_BUDGETS * limit.budgetMs) / MS_PER_S : 0;
  return Math.min(Math.max(budgets, BEYOND_SECONDS.least), BEYOND_SECONDS.most);
}
