import type { Machine } from '#profiler/machine.ts';
import type { StudyChange } from '#tuner/steering.ts';
import type { ServerRefusal } from './fleet-servers.ts';
import type { Steered } from './pause.ts';
import type { Work, WorkOutcome, WorkUnderWay } from './work.ts';

/** What has happened since the last report. */
export interface WorkReport {
  readonly outcomes: readonly WorkOutcome[];
  /** Work handed out earlier and still under way. */
  readonly running: readonly WorkUnderWay[];
  /** Servers that can take work now. */
  readonly idle: readonly string[];
  /**
   * What servers that joined are measured on, by name; absent from workers of an earlier version.
   */
  readonly machines?: Readonly<Record<string, Machine>>;
  /** A person's commands since the last report. */
  readonly commands?: readonly StudyChange[];
  readonly steered?: Steered;
  /** Servers that were asked and did not take the study. */
  readonly refusals?: readonly ServerRefusal[];
  /** The number of other servers that may still take work: those away, or just asked. */
  readonly away?: number;
}

/** What to do next. */
export interface Directive {
  readonly work: readonly Work[];
  /** How the study ended; null while it goes on. No work comes with it. */
  readonly end: StudyEnd | null;
}

export interface StudyEnd {
  readonly stopReason: string;
  /** As in the record `study-finished`. */
  readonly notes?: readonly string[];
  /** The error that ended the study; null if it ended normally. */
  readonly failure: { readonly code: string; readonly message: string; readonly hint: string } | null;
}
