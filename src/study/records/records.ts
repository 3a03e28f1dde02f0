import type { JsonObject } from '../../base/json.ts';
import type { Accuracy } from '../../loadgen/accuracy.ts';
import type { Measurement } from '../../profiler/measurement.ts';
import type { ClientBatch } from '../../space/clients/batches.ts';
import type { Narrowing } from '../../space/narrowing.ts';
import type { Topology } from '../../space/topology.ts';
import type { Candidate } from '../../space/types.ts';
import type { StudySpec } from '../../spec/study-spec.ts';
import type { Interval } from '../../stats/interval.ts';
import type { Bottleneck, Doubted, Goal, LevelPlan, LevelRange, TrialFailure, TrialRole, Wish } from '../types.ts';

/**
 * The journal's lines, one JSON object each: everything that happened to a study, and all that
 * reports, resume and restore need. A field may be added; none is renamed or given another meaning
 * within one `schemaVersion`.
 */
export type StudyRecord =
  | StudyStarted
  | StudyResumed
  | StudyPaused
  | StudyContinued
  | GoalChanged
  | SpaceNarrowed
  | TrialRequested
  | TrialWithdrawn
  | TrialStarted
  | TrialApplied
  | TrialMeasured
  | TrialFinished
  | ReadingsDoubted
  | ServerJoined
  | ServerLeft
  | OriginalMeasured
  | FinalMeasured
  | RoundVoided
  | GainDecided
  | TracingStarted
  | TracingEnded
  | ModelRestored
  | StudyFinished;

interface Stamped {
  /** ISO 8601, UTC, by a clock that may be set during the run. */
  readonly at: string;
  /**
   * Milliseconds since this run of the study began, by the monotonic clock. Absent in records of
   * `restore`, which is no run.
   */
  readonly runMs?: number;
}

export interface StudyStarted extends Stamped {
  readonly type: 'study-started';
  readonly schemaVersion: 2;
  /** The name of the adapter that the study's candidates are for. */
  readonly adapter: string;
  readonly model: string;
  readonly server: ServerIdentity;
  /** The server's state before the first change, which `restore` restores. */
  readonly original: Candidate;
  /** False when the model was not loaded before the run: it is unloaded at the end. */
  readonly wasLoaded: boolean;
  /** The original's other models that were not loaded before the run. Absent for none. */
  readonly unloadedOthers?: readonly string[];
  /**
   * The models that are tuned together, and the path of requests through them. Absent for a single
   * model.
   */
  readonly topology?: Topology;
  readonly goal: Goal;
  readonly levels: LevelRange;
  /** The workloads that it is tuned for, instead of an even rate. Absent without workloads. */
  readonly workloads?: StartedWorkloads;
  readonly sampler: string;
  readonly seed: number;
  /** The search space as it was used, in the file's own vocabulary. */
  readonly space: JsonObject;
  /**
   * What clients send to each model, and the smaller values of `max_batch_size` that were left out
   * for it. Absent where nothing limits.
   */
  readonly clients?: readonly StartedClients[];
  /** The request for the study; a resumed run continues with it. Header values are left out. */
  readonly spec: StudySpec;
  readonly commandLine: readonly string[];
  /**
   * The Model Analyzer file that the run came from, and its keys that did not count. Absent without
   * one.
   */
  readonly modelAnalyzer?: {
    readonly file: string;
    readonly ignored: readonly { readonly key: string; readonly reason: string }[];
  };
  readonly trituneVersion: string;
}

/** The requests of the clients of a model. */
export interface StartedClients extends ClientBatch {
  readonly model: string;
  /** `max_batch_size` of the original config. */
  readonly original: number;
  /** Ascending. */
  readonly leftOut: readonly number[];
  /** How many requests of clients the server had counted, where its counters are the basis. */
  readonly requests?: number | undefined;
}

/** The workloads of a study. Measurements have the figures of each if there are several. */
export interface StartedWorkloads {
  /** How figures of several become one: `worst`, `mean` or `quantile:SHARE`. */
  readonly rule: string;
  /**
   * The share of each trace that only the final sees, in blocks of time. Absent: nothing is held
   * out.
   */
  readonly holdout?: number;
  /** In order; the level of the study is the mean requests per second of the first. */
  readonly of: readonly StartedWorkload[];
}

export interface StartedWorkload {
  readonly name: string;
  readonly file: string;
  readonly weight: number;
  /** Its mean requests per second over the level of the study. */
  readonly perLevel: number;
  readonly passSeconds: number;
  /** Digest of the arrivals at the workload's own rate. */
  readonly digest: string;
}

export interface ServerIdentity {
  readonly name: string;
  readonly version: string;
  /** HOST:PORT of the traffic. */
  readonly url: string;
  readonly protocol: string;
  /** HOST:PORT of the control calls, and their protocol. */
  readonly controlUrl: string;
  readonly controlProtocol: string;
  /** The emulator's profile if the server reports that it is our emulator, else null. */
  readonly emulated: string | null;
}

export interface StudyResumed extends Stamped {
  readonly type: 'study-resumed';
  readonly server: ServerIdentity;
}

/** A person paused the run: the time up to the next record does not count. */
export interface StudyPaused extends Stamped {
  readonly type: 'study-paused';
}

export interface StudyContinued extends Stamped {
  readonly type: 'study-continued';
}

/** From here on the study has another goal, which also ranks the earlier trials. */
export interface GoalChanged extends Stamped {
  readonly type: 'goal-changed';
  readonly goal: Goal;
}

/**
 * From here on only this part of the search space is searched; trials before it stay what they are.
 */
export interface SpaceNarrowed extends Stamped {
  readonly type: 'space-narrowed';
  readonly narrowing: Narrowing;
}

/** A person requested a trial; it waits until a trial starts that is `requested`. */
export interface TrialRequested extends Stamped, Wish {
  readonly type: 'trial-requested';
}

/** A person withdrew such a trial before it started: the last requested of those that waited. */
export interface TrialWithdrawn extends Stamped, Wish {
  readonly type: 'trial-withdrawn';
}

/**
 * In records of one of several servers: the name of the piece of work. Each of its records is
 * written once.
 */
interface OfWork {
  readonly work?: string;
}

export interface TrialStarted extends Stamped {
  readonly type: 'trial-started';
  readonly trial: number;
  readonly role: TrialRole;
  readonly candidate: Candidate;
  /** Absent in the baseline, whose level is searched. */
  readonly levels?: LevelPlan;
  /** True if it is the waiting trial that was requested first. */
  readonly requested?: boolean;
  /** The bottleneck of the best before this trial; only for models that are tuned together. */
  readonly bottleneck?: Bottleneck;
  /** HOST:PORT of the server that tries it, if a study has several. */
  readonly server?: string;
  /** The attempt at the trial, from 1 on, if a study has several servers. */
  readonly attempt?: number;
}

/**
 * `in-place`: only instances changed and the server kept its statistics; `full`: it reloaded the
 * model.
 */
export interface TrialApplied extends Stamped, OfWork {
  readonly type: 'trial-applied';
  readonly trial: number;
  readonly change: 'none' | 'in-place' | 'full';
  readonly loadMs: number;
  /** Duration of making the candidate's files; absent if nothing was made. */
  readonly buildMs?: number;
  readonly accuracy?: Accuracy;
}

export interface TrialMeasured extends Stamped, OfWork {
  readonly type: 'trial-measured';
  readonly trial: number;
  readonly measurement: Measurement;
}

export interface TrialFinished extends Stamped, OfWork {
  readonly type: 'trial-finished';
  readonly trial: number;
  readonly chosen: number | null;
  readonly feasible: boolean;
  readonly failure: TrialFailure | null;
}

/** Readings that the sampler now suspects to be false-feasible; replaces the previous record. */
export interface ReadingsDoubted extends Stamped {
  readonly type: 'readings-doubted';
  readonly readings: readonly Doubted[];
}

/** Another server takes trials of the study from here on. */
export interface ServerJoined extends Stamped {
  readonly type: 'server-joined';
  /** As in `TrialStarted`. */
  readonly server: string;
}

/** A server takes no more trials: it was lost, or cannot take those of this study. */
export interface ServerLeft extends Stamped {
  readonly type: 'server-left';
  readonly server: string;
  readonly reason: string;
}

/**
 * The original config again, on one of several servers: it shows that server's speed relative to
 * the others.
 */
export interface OriginalMeasured extends Stamped, OfWork {
  readonly type: 'original-measured';
  readonly server: string;
  readonly measurement: Measurement;
}

/** One turn of the final, in which the finalists and the baseline are measured in turn. */
export interface FinalMeasured extends Stamped, OfWork {
  readonly type: 'final-measured';
  readonly round: number;
  readonly trial: number;
  /** The trials that remain in the round after this one; absent for none. */
  readonly rest?: readonly number[];
  readonly measurement: Measurement;
  /** As in `TrialStarted`. */
  readonly server?: string;
}

/**
 * A round of the final that does not count and is repeated, because the original config was this
 * many times slower than usual.
 */
export interface RoundVoided extends Stamped {
  readonly type: 'round-voided';
  readonly round: number;
  readonly slower: number;
}

/**
 * The outcome of the final: the trial to emit, and its gain over the baseline by the objective (for
 * throughput, the ratio of throughputs). null when the baseline served nothing to compare with, or
 * the final did not reach that trial; 1 when the baseline itself is emitted. `rejected`: the trial
 * that was played and not taken, if the baseline or an unplayed one was.
 */
export interface GainDecided extends Stamped {
  readonly type: 'gain-decided';
  readonly best: number;
  readonly gain: Interval | null;
  /**
   * `better`: a gain over the original config was shown, or only the best meets the goal.
   * `nothing-better`: the original config is the best. `unconfirmed`: there is no such comparison.
   * Absent in journals of 0.2.0 and before.
   */
  readonly verdict?: 'better' | 'nothing-better' | 'unconfirmed';
  readonly rejected?: { readonly trial: number; readonly gain: Interval | null; readonly reason: string };
}

/** Settings of a server's tracing, each with its values. */
export type RecordedTraceSettings = { readonly [name: string]: readonly string[] };

/**
 * Written before the server traces a measurement of this trial: from here on `restore` puts its
 * settings back.
 */
export interface TracingStarted extends Stamped {
  readonly type: 'tracing-started';
  readonly trial: number;
  /** The settings that change, as they were before. */
  readonly earlier: RecordedTraceSettings;
  /** On the server's disk. */
  readonly file: string;
}

/** `verified`: the settings read back are the earlier ones. */
export interface TracingEnded extends Stamped {
  readonly type: 'tracing-ended';
  readonly verified: boolean;
  readonly detail: string;
}

/**
 * `verified`: the config read back equals the original one. `failed`: it could not be restored;
 * `detail` says why.
 */
export interface ModelRestored extends Stamped {
  readonly type: 'model-restored';
  readonly how: 'config' | 'reload' | 'unload' | 'nothing-changed' | 'failed';
  readonly verified: boolean;
  readonly detail: string;
  /** How each server was left, if a study has several. */
  readonly servers?: readonly (Pick<ModelRestored, 'how' | 'verified' | 'detail'> & { readonly server: string })[];
}

export interface StudyFinished extends Stamped {
  readonly type: 'study-finished';
  readonly stopReason: string;
  /**
   * What else there is to say about the end. Earlier versions wrote it into the reason, after
   * semicolons.
   */
  readonly notes?: readonly string[];
  readonly interrupted: boolean;
  readonly wallSeconds: number;
}
