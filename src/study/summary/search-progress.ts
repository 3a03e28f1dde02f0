/** The latest end of a search; null for no limit. */
export interface SearchLimits {
  readonly maxTrials: number | null;
  readonly timeBudgetSeconds: number | null;
  /** The usual duration of the whole run; null while unknown. */
  readonly usualSeconds: number | null;
}

/** The progress of a search. */
export interface SearchPace {
  /** Trials of the search that are finished. */
  readonly done: number;
  readonly elapsedSeconds: number;
  /** The usual trials of such a search; null if it has limits, or if unknown. */
  readonly usualTrials: number | null;
}

/** The largest progress that is shown for a search without limits before it ends. */
const MAX_OF_USUAL = 0.95;

/** Returns the finished share of a running search, 0 to 1; null if its length is unknown. */
export function searchShare(
  { maxTrials, timeBudgetSeconds, usualSeconds }: SearchLimits,
  { done, elapsedSeconds, usualTrials }: SearchPace,
): number | null {
  if (usualTrials !== null)
    return Math.min(MAX_OF_USUAL, usualSeconds === null ? done / usualTrials : elapsedSeconds / usualSeconds);
  if (maxTrials === null && timeBudgetSeconds === null) return null;
  return Math.max(maxTrials ? done / maxTrials : 0, timeBudgetSeconds ? elapsedSeconds / timeBudgetSeconds : 0);
}

/**
 * Returns the seconds to the earliest end of a running search, if trials keep their pace; null
 * without a limit, or before the first trial.
 */
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
