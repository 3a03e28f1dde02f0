/** A level is recommended where the budget is kept with this chance. */
export const RECOMMENDED_CHANCE = 0.9;
/** With this one it is called safe. */
export const SAFE_CHANCE = 0.99;
/** A level that is less likely than this to keep the budget is never recommended. */
export const LIKELY = 0.5;
