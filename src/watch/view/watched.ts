import type { FleetProgress } from '../../fleet/workflow/seams.ts';
import type { StudyState } from '../../study/records/state.ts';
import type { WorkMoment } from './work-moment.ts';

/** A study as its source lists it, before any of its records is read. */
export interface StudyHead {
  readonly study: string;
  /** The group of servers that it is over; null for a study of one machine. */
  readonly group: string | null;
  readonly status: StudyStatusWord;
  /** ISO 8601; null where it is not known. */
  readonly startedAt: string | null;
}

/** How a study stands: what is under way may be steered. */
export type StudyStatusWord =
  | 'under way'
  | 'over'
  | 'interrupted'
  | 'failed'
  | 'cancelled'
  | 'terminated'
  | 'timed out';

/** All that is known of a study that is watched. */
export interface Watched {
  readonly head: StudyHead;
  /** Why what is known of it may be old; null where all is well. */
  readonly trouble: string | null;
  /** null before its first record. */
  readonly state: StudyState | null;
  /** How many records it has. */
  readonly records: number;
  readonly progress: FleetProgress | null;
  /** By piece of work. */
  readonly moments: ReadonlyMap<string, WorkMoment>;
  readonly serverOf: ReadonlyMap<number, string>;
  readonly finished: readonly number[];
  /** Seconds since its last record came. */
  readonly sinceRecordSeconds: number;
}
