import type { Machine } from '#profiler/machine.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { Narrowing } from '#space/narrowing.ts';
import type { Candidate } from '#space/types.ts';
import type { TrialPoint } from '../goal/ranking.ts';
import type { Speeds } from '../speed/speeds.ts';
import type { Doubted, Goal, LevelPlan, Trial, TrialRole, Wish } from '../types.ts';
import type { StudyPhase } from './phases.ts';
import type {
  FinalMeasured,
  GainDecided,
  ModelRestored,
  ServerIdentity,
  StudyFinished,
  StudyStarted,
  TracingEnded,
  TracingStarted,
} from './records.ts';

/** A trial that was started and not finished: the run ended during it, or is running it. */
export interface UnfinishedTrial {
  readonly number: number;
  readonly role: TrialRole;
  readonly candidate: Candidate;
  readonly levels: LevelPlan;
  readonly measurements: readonly Measurement[];
  /** As in `TrialStarted`. */
  readonly server?: string;
  readonly attempt?: number;
}

/** One of several servers of a study. */
export interface ServerOfStudy {
  /** HOST:PORT. */
  readonly name: string;
  /** Why it takes no more trials; null while it takes some. */
  readonly left: string | null;
  /** The number of measurements of the original config on it, including the baseline. */
  readonly originals: number;
  /** Trials that it has finished since the original was last measured. */
  readonly trialsSinceOriginal: number;
  /** What it is measured on; absent if its worker did not say. */
  readonly machine?: Machine;
}

export interface Counts {
  readonly trials: number;
  readonly measurements: number;
  /** Full loads of the model, not counting changes of the instance count alone. */
  readonly reloads: number;
  readonly failed: number;
}

/** Everything that a study's records say, folded. Recomputed for another goal when one is given. */
export interface StudyState {
  readonly started: StudyStarted;
  /** The server of the latest run; a study may be resumed on another address. */
  readonly server: ServerIdentity;
  readonly goal: Goal;
  /**
   * The part of the search space that the person has ruled out; earlier measurements of it still
   * count.
   */
  readonly narrowing: Narrowing;
  /** Trials that the person requested and that have not started, the first first. */
  readonly requested: readonly Wish[];
  /** Finished trials by number. */
  readonly trials: readonly Trial[];
  readonly unfinished: UnfinishedTrial | null;
  /** All open trials, if several servers each run one: in the order in which they were started. */
  readonly open: readonly UnfinishedTrial[];
  /** The servers, if the study has several. */
  readonly servers: readonly ServerOfStudy[];
  /**
   * Readings that the sampler suspects to be false-feasible. None under another goal than the
   * study's.
   */
  readonly doubted: readonly Doubted[];
  /** The speed of machine and server during the study. */
  readonly speeds: Speeds;
  /**
   * The trials and final with every measurement scaled to the study's usual speed, for comparisons.
   * Reports use the figures as measured, in the fields next to this one.
   */
  readonly compared: Pick<StudyState, 'trials' | 'baseline' | 'contender' | 'finals'>;
  readonly baseline: Trial | null;
  /** The best by the search alone: what the final compares with the baseline. */
  readonly contender: Trial | null;
  /** The trial to emit: the contender, unless the final decided for the baseline. */
  readonly best: Trial | null;
  /** The measurements of the final that count. */
  readonly finals: readonly FinalMeasured[];
  /** The number of its rounds that did not count. */
  readonly voidRounds: number;
  /** The gain by the final; null before it, and under another goal than the study's. */
  readonly gain: GainDecided | null;
  readonly front: readonly TrialPoint[];
  /** The latest; without `ended` the server's trace settings are not restored. */
  readonly tracing: { readonly started: TracingStarted; readonly ended: TracingEnded | null } | null;
  readonly restored: ModelRestored | null;
  readonly finished: StudyFinished | null;
  readonly counts: Counts;
  /**
   * Seconds in which a run was under way, all runs of the study together, up to the last record.
   */
  readonly elapsedSeconds: number;
  /** What these seconds were spent on, in the order of the records. */
  readonly phases: readonly StudyPhase[];
  /** The part of these seconds that loads took; a failed load has no duration. */
  readonly loadSeconds: number;
}
