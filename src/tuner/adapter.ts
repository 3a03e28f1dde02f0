import type { Accuracy } from '#loadgen/accuracy.ts';
import type { LoadLevel } from '#loadgen/types.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { ProfileProgress } from '#profiler/progress.ts';
import type { Difference } from '#space/differences.ts';
import type { Assignment, Candidate, CandidateOutcome } from '#space/types.ts';
import type { ServerIdentity } from '#study/records/records.ts';

/**
 * Everything that tritune knows about a server and its settings. Another kind of server needs its
 * own adapter. Only the adapter reads a candidate's `value`.
 */
export interface ServerAdapter extends Control, Profile {
  /** Recorded in journals; an adapter of the same name resumes and restores the study. */
  readonly name: string;
  readonly identity: ServerIdentity;
  /** The state of the server before the first change. */
  readonly original: Candidate;
  /**
   * Returns the candidate of an assignment, or why there is none. The empty assignment is the
   * original. Pure.
   */
  build(assignment: Assignment): CandidateOutcome;
  /**
   * Returns the differences between two candidates, in readable form; empty for equal fingerprints.
   * Pure.
   */
  diff(before: Candidate, after: Candidate): readonly Difference[];
  /** Returns the files that are needed to serve the candidate; empty if there are none. Pure. */
  documents(candidate: Candidate): readonly Emitted[];
}

/** The part of an adapter that the tuning loop uses. */
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
  /** Copied only with this content; absent for the output of a build. */
  readonly sha256?: string;
}

/**
 * A file that only a journal names: it is not read, and an earlier copy stays if it has this
 * content.
 */
export interface EmittedEarlier {
  /** Relative, of safe segments. */
  readonly path: string;
  /** Where it was, for people. */
  readonly was: string;
  readonly sha256?: string;
}

export type Emitted = EmittedDocument | EmittedCopy | EmittedEarlier;

export interface Applied {
  readonly candidate: Candidate;
  readonly change: 'none' | 'in-place' | 'full';
  /** Duration of the load alone. */
  readonly loadMs: number;
  /** Duration of building the candidate's files; absent if nothing had to be built. */
  readonly buildMs?: number;
  /**
   * Comparison of the outputs with the expected ones; absent if this candidate was not compared.
   */
  readonly accuracy?: Accuracy;
}

export interface Restored {
  readonly how: 'config' | 'reload' | 'unload' | 'nothing-changed';
  readonly verified: boolean;
  readonly detail: string;
}

/** Applies candidates to the server and, at the end, restores it. */
export interface Control {
  /**
   * Resolves when the candidate serves and the server reports what was sent. Errors:
   * CandidateRefusedError if the server refuses it, CONFIG_MISMATCH, SERVER_*; INTERRUPTED, or the
   * signal's reason, soon after the signal.
   */
  apply(candidate: Candidate, signal: AbortSignal): Promise<Applied>;
  /**
   * Describes how the server differs from what `apply` left: other settings, or nothing that
   * serves. null: no difference. Errors: SERVER_*.
   */
  changed(signal: AbortSignal): Promise<string | null>;
  /** Returns whether anything answers at the server's address. */
  isReachable(signal: AbortSignal): Promise<boolean>;
  /**
   * Safe to call at any time and more than once; never takes the run's signal, because it must
   * finish. Errors: RESTORE_FAILED.
   */
  restore(): Promise<Restored>;
}

export interface MeasureOptions {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: ProfileProgress) => void;
  /**
   * The latency budget in force, which may have changed since the profile was made; absent for
   * none.
   */
  readonly budgetMs?: number;
  /** Budgets of the models of a mix, by name, in milliseconds. */
  readonly budgetsMs?: Readonly<Record<string, number>>;
  /** Absent for a measurement of the final, whose figures are reported. */
  readonly purpose?: MeasurePurpose;
  /**
   * The time of the run's clock, in nanoseconds, at which the measurement ends with what it has;
   * absent for no such time.
   */
  readonly untilNs?: number;
}

/**
 * `search`: one of many measurements that are compared; it may be shorter, because the best are
 * measured again. `rest`: shows the latency with a few requests in flight.
 */
export type MeasurePurpose = 'search' | 'rest';

/** Measures the served candidate. */
export interface Profile {
  /**
   * Measures the applied candidate at one load level. Errors: SERVER_*; INTERRUPTED, or the
   * signal's reason, soon after the signal.
   */
  measure(applied: Applied, level: LoadLevel, options: MeasureOptions): Promise<Measurement>;
}
