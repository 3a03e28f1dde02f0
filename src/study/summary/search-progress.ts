/** Where a search ends at the latest; null for no limit. */
export interface SearchLimits {
  readonly maxTrials: number | null;
  readonly timeBudgetSeconds: number | null;
  /** What the whole run takes as a rule; null while nothing says so. */
  readonly usualSeconds: number | null;
}

/** How far a search is. */
export interface SearchPace {
  /** Trials of the search that are finished. */
  readonly done: number;
  readonly elapsedSeconds: number;
  /** Trials that such a search takes as a rule; null where it has limits, or nothing says so. */
  readonly usualTrials: number | null;
}

/** The most that a search without limits is shown as done before it ends. */
const MOST_OF_USUAL = 0.95;

/** Returns how much of a search under way is done, 0 to 1; null where nothing says how long it may be. */
export function searchShare(
  { maxTrials, timeBudgetSeconds, usualSeconds }: SearchLimits,
  { done, elapsedSeconds, usualTrials }: SearchPace,
): number | null {
  if (usualTrials !== null)
    return Math.min(MOST_OF_USUAL, usualSeconds === null ? done / usualTrials : elapsedSeconds / usualSeconds);
  if (maxTrials === null && timeBudgetSeconds === null) return null;
  return Math.max(maxTrials ? done / maxTrials : 0, timeBudgetSeconds ? elapsedSeconds / timeBudgetSeconds : 0);
}

/** Returns the seconds to the earliest end of a search under way, if trials go on at their pace; null without a limit, or before the first trial. */
export function searchSecondsLeft(
  { maxTrials, timeBudgetSeconds, usualSeconds }: SearchLimits,
  { done, elapsedSeconds, usualTrials }: SearchPace,
): number | null {
  if (usualTrials !== null && usualSeconds !== null) return usualSeconds - elapsedSeconds;
  const most = usualTrials !== null && done < usualTrials ? usualTrials : maxTrials;
  const byTime = timeBudgetSeconds === null ? null : Math.max(0, timeBudgetSeconds - elapsedSeconds);
  const byTrials = most === null || done === 0 ? null : ((most - done) * elapsedSeconds) / (done + 1);
  if (byTime === null || byTrials === null) return byTime ?? byTrials;
  return Math.min(byTime, byTrials);
}
