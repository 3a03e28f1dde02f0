import { MS_PER_S } from '../../../base/units.ts';

/** A reply of thousands of tokens takes minutes. */
const LONGEST_MS = 600 * MS_PER_S;
const SHORTEST_MS = 60 * MS_PER_S;
/** With more users a reply takes longer, but at no level worth measuring by more than this factor. */
const TIMES_SLOWEST = 20;

/**
 * Returns the time limit of a request in milliseconds, from the slowest one of the study so far; null if there is none yet. Without it, an engine
 * that accepts a setting and then never answers would delay the study by ten minutes (Dynamo's mocker does so for prompts that fit in no step).
 */
export const requestLimitMs = (slowestMs: number | null): number =>
  slowestMs === null ? LONGEST_MS : Math.min(LONGEST_MS, Math.max(SHORTEST_MS, TIMES_SLOWEST * slowestMs));
