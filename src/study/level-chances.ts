/** The probability of keeping the budget from which on a level is recommended. */
export const RECOMMENDED_CHANCE = 0.9;
/** The probability from which on a level is called safe. */
export const SAFE_CHANCE = 0.99;
/** A level with a lower probability of keeping the budget is never recommended. */
export const LIKELY = 0.5;
