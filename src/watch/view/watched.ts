import type { FleetProgress } from '#fleet/workflow/seams.ts';
import type { StudyState } from '#study/records/state.ts';
import type { WorkMoment } from './work-moment.ts';

/** A study in its source's list, before any of its records is read. */
export interface StudyHead {
  readonly study: string;
  /** The study's group of servers; null for a study of one machine. */
  readonly group: string | null;
  readonly status: StudyStatusWord;
  /** ISO 8601; null if unknown. */
  readonly startedAt: string | null;
}

/** The status of a study. A running one may be steered. */
export type StudyStatusWord =
  | 'under way'
  | 'over'
  | 'interrupted'
  | 'failed'
  | 'cancelled'
  | 'terminated'
  | 'timed out';

/** Everything known about a watched study. */
export interface Watched {
  readonly head: StudyHead;
  /** Why it may be out of date; null if all is well. */
  readonly trouble: string | null;
  /** null before its first record. */
  readonly state: StudyState | null;
  /** The number of records. */
  readonly records: number;
  readonly progress: FleetProgress | null;
  /** The current moments, by piece of work. */
  readonly moments: ReadonlyMap<string, WorkMoment>;
  readonly serverByTrial: ReadonlyMap<number, string>;
  readonly finished: readonly number[];
  /** Seconds since its last record came. */
  readonly sinceRecordSeconds: number;
}
