import { MS_PER_S } from '../../../base/units.ts';

/** A reply of thousands of tokens takes minutes. */
const LONGEST_MS = 600 * MS_PER_S;
const SHORTEST_MS = 60 * MS_PER_S;
/** More users wait longer for the same reply, but not by this factor where the level is worth measuring. */
const TIMES_SLOWEST = 20;

/**
 * Returns how long a request may take, in milliseconds, by the slowest that a study has seen so far; null for none. An engine that takes a setting
 * and then never answers would otherwise hold the study up for ten minutes (Dynamo's mocker does so with prompts that fit in no step).
 */
export const requestLimitMs = (slowestMs: number | null): number =>
  slowestMs === null ? LONGEST_MS : Math.min(LONGEST_MS, Math.max(SHORTEST_MS, TIMES_SLOWEST * slowestMs));
