/**
 * The expected length of a search, fitted to studies of the emulator's profiles in virtual time.
 */
export interface SearchLength {
  /** Measurements of the noise floor with a few requests in flight, before the search. */
  readonly atRest: number;
  /** Measurements before the search knows the range of useful levels. */
  readonly first: number;
  /** Measurements per trial. */
  readonly perTrial: number;
  /**
   * Mean latency at the measured levels, as a share of the budget, where the budget ends the search
   * for levels.
   */
  readonly budgetShare: number;
  /**
   * Mean latency at the measured levels, in multiples of a lone request's, where the highest level
   * ends it.
   */
  readonly requestTimes: number;
  /**
   * The mean window, in milliseconds, where windows are as long as they may be at the higher
   * levels.
   */
  readonly longestWindowMs: number;
  /**
   * Sides in a round of the final on average, the baseline among them. Losers drop out, and some
   * studies have no final.
   */
  readonly finalists: number;
  /**
   * Rounds of a final on a real server over the planned rounds; real servers are noisier than
   * simulated ones.
   */
  readonly roundsTimes: number;
}

/** A sampler that leaves the levels to the level search: doublings, then bisection. */
export const LEVEL_BY_LEVEL: SearchLength = {
  atRest: 0,
  first: 5,
  perTrial: 3.6,
  budgetShare: 1.25,
  requestTimes: 9,
  longestWindowMs: 2000,
  finalists: 3,
  roundsTimes: 1,
};

/**
 * The same for candidates from all over the space: those with large batches have their best level
 * far up.
 */
export const ANYWHERE: SearchLength = { ...LEVEL_BY_LEVEL, perTrial: 4.1, budgetShare: 1.4 };

/** A sampler that measures every candidate at every doubling. */
export const EVERY_LEVEL: SearchLength = {
  atRest: 0,
  first: 4,
  perTrial: 7,
  budgetShare: 1.1,
  requestTimes: 4.5,
  longestWindowMs: 2000,
  finalists: 3,
  roundsTimes: 1,
};

/** A sampler with a model of the levels. */
export const BY_MODEL: SearchLength = {
  atRest: 1,
  first: 1,
  perTrial: 1.1,
  budgetShare: 0.6,
  requestTimes: 8.5,
  longestWindowMs: 1300,
  finalists: 2.3,
  roundsTimes: 2,
};
