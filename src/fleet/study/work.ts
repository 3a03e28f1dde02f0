import type { Measurement } from '#profiler/measurement.ts';
import type { Assignment } from '#space/types.ts';
import type { LevelPlan, Trial, TrialFailure } from '#study/types.ts';

/**
 * One piece of work for one server: a candidate at the levels of a plan. It is small, because the
 * history of a workflow stores it.
 */
export interface Work {
  /** Unique in its study: by study, trial and attempt. The journal holds its records once. */
  readonly id: string;
  /** `original`: the original config, to compare the server's speed with others'. */
  readonly kind: 'trial' | 'original' | 'final';
  /** HOST:PORT of the server for this work. */
  readonly server: string;
  /** The number of the trial in the study. */
  readonly trial: number;
  /** The number of the attempt, from 1 on. */
  readonly attempt: number;
  /** The candidate; the empty assignment is the original. */
  readonly assignment: Assignment;
  /** The fingerprint of the candidate that this assignment must produce on the server. */
  readonly fingerprint: string;
  readonly levels: LevelPlan;
  /** True for a full measurement, whose figures are reported. */
  readonly isFull: boolean;
}

/** The part of work under way that the conductor needs. */
export type WorkUnderWay = Pick<Work, 'kind' | 'server' | 'trial'>;

/** The outcome of a piece of work. */
export type WorkOutcome =
  | {
      readonly kind: 'done';
      readonly work: Work;
      readonly applied?: Trial['applied'];
      readonly measurements: readonly Measurement[];
      readonly failure: TrialFailure | null;
    }
  /** The server or its worker went away; another may try. */
  | { readonly kind: 'lost'; readonly work: Work; readonly reason: string }
  /** The server does not suit this study, and is not asked again. */
  | { readonly kind: 'unfit'; readonly work: Work; readonly reason: string };

/** How a server was left at the end of a study. */
export interface ServerRestored {
  readonly server: string;
  readonly how: 'config' | 'reload' | 'unload' | 'nothing-changed' | 'failed';
  readonly verified: boolean;
  readonly detail: string;
}
