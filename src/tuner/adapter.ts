import type { Accuracy } from '../loadgen/accuracy.ts';
import type { LoadLevel } from '../loadgen/types.ts';
import type { Measurement, ProfileProgress } from '../profiler/measurement.ts';
import type { Difference } from '../space/differences.ts';
import type { Assignment, Candidate, CandidateOutcome } from '../space/types.ts';
import type { ServerIdentity } from '../study/records/records.ts';

/**
 * All that tritune knows of a server and of what is set on it: a stranger's server is tuned by an adapter of its own. A candidate is what
 * the adapter applies: nobody else looks into its `value`.
 */
export interface ServerAdapter extends Control, Profile {
  /** Stands in journals; a study is resumed and restored by the adapter of the same name. */
  readonly name: string;
  readonly identity: ServerIdentity;
  /** What the server has before the first change. */
  readonly original: Candidate;
  /** The candidate of an assignment, or why there is none; the empty assignment is the original. Pure: the same for the same assignment. */
  build(assignment: Assignment): CandidateOutcome;
  /** Where two candidates differ, as people read it; none for equal fingerprints. Pure. */
  diff(before: Candidate, after: Candidate): readonly Difference[];
  /** The files that somebody who wants to serve the candidate needs; none where there are no such files. Pure. */
  documents(candidate: Candidate): readonly (EmittedDocument | EmittedCopy)[];
}

/** What the loop that tunes asks of an adapter. */
export type TunedAdapter = Control & Profile & Pick<ServerAdapter, 'build'>;

/** A file to emit. */
export interface EmittedDocument {
  /** Relative, of safe segments. */
  readonly path: string;
  readonly text: string;
}

/** A file or folder of this machine that is emitted as it is. */
export interface EmittedCopy {
  /** Relative, of safe segments. */
  readonly path: string;
  readonly source: string;
}

export interface Applied {
  readonly candidate: Candidate;
  readonly change: 'none' | 'in-place' | 'full';
  /** Of the load alone. */
  readonly loadMs: number;
  /** How long it took to make the candidate's files; absent where nothing had to be made. */
  readonly buildMs?: number;
  /** How the outputs compare with the expected ones; absent where they were not compared for this candidate. */
  readonly accuracy?: Accuracy;
}

export interface Restored {
  readonly how: 'config' | 'reload' | 'unload' | 'nothing-changed';
  readonly verified: boolean;
  readonly detail: string;
}

/** Puts a candidate on the server and, at the end, the server back as it was. */
export interface Control {
  /**
   * Resolves when the candidate serves, and what the server says that it has is what was sent. Errors: a CandidateRefusedError where the
   * server does not take it, CONFIG_MISMATCH, SERVER_*; INTERRUPTED, or the signal's reason, soon after the signal.
   */
  apply(candidate: Candidate, signal: AbortSignal): Promise<Applied>;
  /** What is not as `apply` left it, in words: other settings, or nothing that serves; null when all is. Errors: SERVER_*. */
  changed(signal: AbortSignal): Promise<string | null>;
  /** Whether anything answers where the server is. */
  isReachable(signal: AbortSignal): Promise<boolean>;
  /** Safe to call at any time and more than once; never takes the run's signal, because it must finish. Errors: RESTORE_FAILED. */
  restore(): Promise<Restored>;
}

export interface MeasureOptions {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: ProfileProgress) => void;
  /** The latency budget in force, which may have changed since the profile was made; absent for none. */
  readonly budgetMs?: number;
  /** Those of models of a mix, by name, in milliseconds. */
  readonly budgetsMs?: Readonly<Record<string, number>>;
  /** Absent for one of the final, whose figures are reported. */
  readonly purpose?: MeasurePurpose;
}

/**
 * `search`: one of many that are compared, the best of which are measured again: it may be shorter. `rest`: shows what the latency is like
 * with a few requests in flight.
 */
export type MeasurePurpose = 'search' | 'rest';

/** Measures what serves. */
export interface Profile {
  /** One load level of what `apply` has put there. Errors: SERVER_*; INTERRUPTED, or the signal's reason, soon after the signal. */
  measure(applied: Applied, level: LoadLevel, options: MeasureOptions): Promise<Measurement>;
}
