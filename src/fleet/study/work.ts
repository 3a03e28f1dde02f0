import type { Measurement } from '../../profiler/measurement.ts';
import type { Assignment } from '../../space/types.ts';
import type { LevelPlan, Trial, TrialFailure } from '../../study/types.ts';

/** One piece of work for one server: a candidate at the levels of a plan. It is small, because it stands in the history of a workflow. */
export interface Work {
  /** Unique in its study: by study, trial and attempt. Its records are in the journal once. */
  readonly id: string;
  /** `original`: the original config, to see how fast the server is beside others. */
  readonly kind: 'trial' | 'original' | 'final';
  /** HOST:PORT of the server that is to do it. */
  readonly server: string;
  /** The number of the trial in the study. */
  readonly trial: number;
  /** Which try this is, from 1 on. */
  readonly attempt: number;
  /** The candidate; the empty assignment is the original. */
  readonly assignment: Assignment;
  /** The candidate that this assignment must give on the server, too. */
  readonly fingerprint: string;
  readonly levels: LevelPlan;
  /** A full measurement, whose figures are reported. */
  readonly isFull: boolean;
}

/** What the conductor must know of work that is under way. */
export type WorkUnderWay = Pick<Work, 'kind' | 'server' | 'trial'>;

/** What became of a piece of work. */
export type WorkOutcome =
  | {
      readonly kind: 'done';
      readonly work: Work;
      readonly applied?: Trial['applied'];
      readonly measurements: readonly Measurement[];
      readonly failure: TrialFailure | null;
    }
  /** The server, or what drives it, went away: another may try. */
  | { readonly kind: 'lost'; readonly work: Work; readonly reason: string }
  /** The server is none for this study, and is asked no more. */
  | { readonly kind: 'unfit'; readonly work: Work; readonly reason: string };

/** How a server was left at the end of a study. */
export interface ServerRestored {
  readonly server: string;
  readonly how: 'config' | 'reload' | 'unload' | 'nothing-changed' | 'failed';
  readonly verified: boolean;
  readonly detail: string;
}
