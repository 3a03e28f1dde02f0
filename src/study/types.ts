import type { Accuracy } from '#loadgen/accuracy.ts';
import type { LoadLevel } from '#loadgen/types.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { RequestLimits } from '#queueing/continuous/request-limits.ts';
import type { Assignment, Candidate } from '#space/types.ts';

import type { Metrics } from './goal/metrics/registry.ts';
import type { Certificate } from './records/certificate-schema.ts';
import type { Constraint, CostTerms, LatencyBudget, LevelPlan, Objective } from './records/goal-schema.ts';

export type { Certificate, Constraint, LatencyBudget, LevelPlan, Objective };

/** The objectives of a study, and what a measurement must satisfy to be feasible. */
export interface Goal {
  readonly budget: LatencyBudget | null;
  readonly constraints: readonly Constraint[];
  readonly objectives: readonly Objective[];
  /** Limits of a good request, in nanoseconds; absent without limits. */
  readonly goodput?: RequestLimits;
  /** Prices and rate for the cost metrics; absent without prices. */
  readonly cost?: CostTerms;
  /**
   * The registry of metrics; default `builtInMetrics`. It is not in the journal: a reader of a
   * journal supplies it again.
   */
  readonly metrics?: Metrics;
}

/** The levels that a trial may be measured at, both included. */
export interface LevelRange {
  readonly mode: LoadLevel['mode'];
  readonly low: number;
  readonly high: number;
  /**
   * Samples per request to consider, in a closed loop; absent: every request has the same number.
   */
  readonly batch?: { readonly low: number; readonly high: number };
}

/** A level in the mode of its study. */
export type LevelPoint = Omit<LoadLevel, 'mode'>;

export const FAILURE_KINDS = [
  'illegal', // breaks a rule of the space or of Triton's; never sent
  'pruned', // must fail because another candidate did
  'invalid-config', // the server could not parse it
  'out-of-memory',
  'no-gpu',
  'init-failed',
  'build-failed', // the command that builds the variant's files failed
  'upload-refused', // the server refused the variant's files
  'inaccurate', // its outputs differ from the expected ones by more than allowed
  'load-timeout',
  'config-mismatch', // the config read back is not the one sent
  'requests-failed', // loaded, but did not serve
  'client-bound', // every measurement was limited by the load generator
  'metric-missing', // measured, but without a metric that the goal needs
  'skipped', // skipped by the user before anything was measured
  'server-lost',
] as const;

export type FailureKind = (typeof FAILURE_KINDS)[number];

export interface TrialFailure {
  readonly kind: FailureKind;
  /** A message for people, in the server's words if it sent any. */
  readonly reason: string;
}

/** baseline: the original config. search: proposed by the sampler. */
export type TrialRole = 'baseline' | 'search';

/**
 * A finished trial: one candidate at the load levels of one plan. `chosen` is the index in
 * `measurements` of the level that represents it: the best feasible one, or the least infeasible
 * one if none is feasible; null if nothing was measured.
 */
export interface Trial {
  readonly number: number;
  readonly role: TrialRole;
  readonly candidate: Candidate;
  /** How the candidate was applied, and how long that took; absent if it was not. */
  readonly applied?: {
    readonly change: 'none' | 'in-place' | 'full';
    readonly loadMs: number;
    /** Duration of building its files; absent if nothing had to be built. */
    readonly buildMs?: number;
    /** Comparison of its outputs with the expected ones; absent if they were not compared. */
    readonly accuracy?: Accuracy;
  };
  readonly measurements: readonly Measurement[];
  readonly chosen: number | null;
  readonly feasible: boolean;
  readonly failure: TrialFailure | null;
}

/** A trial in progress on another server, without a result yet. */
export interface PendingTrial {
  readonly number: number;
  readonly candidate: Candidate;
  /** Its load level; null if the level search decides it. */
  readonly level: LevelPoint | null;
}

/**
 * What a sampler sees: finished trials in the order of their numbers, the baseline first if it was
 * measured.
 */
export interface History {
  readonly trials: readonly Trial[];
  /** Trials in progress on other servers; absent with a single server. */
  readonly pending?: readonly PendingTrial[];
}

/**
 * `early`: the search could end and still has expected time left. `late`: it has used more time
 * than expected.
 */
export type Pace = 'early' | 'late';

/** Remaining trials and seconds; Infinity without a limit. */
export interface Remaining {
  readonly trials: number;
  readonly seconds: number;
  /**
   * Relative to the expected duration; absent if the search is within it, or nothing is expected.
   */
  readonly pace?: Pace;
}

/** A point of the predicted front of unmeasured candidates. */
export interface PredictedPoint {
  /** infer/s. */
  readonly throughput: number;
  /** Milliseconds, at the goal's percentile. */
  readonly latencyMs: number;
  /**
   * Only for a language model: output tokens per second, in total and per user. The front then
   * shows these two.
   */
  readonly tokens?: { readonly perSecond: number; readonly perUser: number };
}

/**
 * The bottleneck of the best trial so far, for models that are tuned together, according to the
 * performance model.
 */
export interface Bottleneck {
  readonly trial: number;
  /** The model that gains most from one more instance. */
  readonly stage: string;
  /** Utilisation of its instances, 0 to 1. */
  readonly utilization: number;
  /**
   * Ratio of the throughput with one more instance, at the same concurrency; at a request rate the
   * inverse ratio of mean latencies.
   */
  readonly gain: number;
  /** The device that is used up, if no further instance helps: `gpu` or `cpu`. */
  readonly device?: string;
}

export type Proposal = {
  readonly kind: 'trial';
  readonly assignment: Assignment;
  readonly levels: LevelPlan;
  /** Expected relative improvement of the best by this trial, if the sampler predicts it. */
  readonly expectedGain?: number;
  /**
   * Predicted chance that its first measurement meets the goal, 0 to 1, if the sampler predicts it.
   */
  readonly chance?: number;
  /**
   * Predicted throughput/latency front of unmeasured candidates (of tokens for a language model),
   * by rising throughput, if the sampler predicts it.
   */
  readonly foreseen?: readonly PredictedPoint[];
  /** Values of settings that no trial has had yet, as `name=value`, if the sampler tracks them. */
  readonly unseen?: readonly string[];
  /** The bottleneck that this candidate addresses, for models that are tuned together. */
  readonly bottleneck?: Bottleneck;
  /** The earlier study whose best this is. */
  readonly prior?: string;
};

/** A trial that the user requests. */
export type Wish = Pick<Proposal, 'assignment' | 'levels'>;

export type Stop = { readonly kind: 'stop'; readonly reason: string };

/** A trial in progress, with its measurements so far. */
export interface RunningTrial {
  readonly number: number;
  readonly role: TrialRole;
  readonly candidate: Candidate;
  readonly measurements: readonly Measurement[];
}

/**
 * Chooses trials. Pure: the same seed and history give the same answer, so that a resumed study
 * continues as it would have.
 */
export interface Sampler {
  /**
   * Returns the next trial, or a stop. A stop while trials are pending means: wait until one of
   * them has finished.
   */
  ask(history: History, remaining: Remaining): Proposal | Stop;
  /**
   * Returns the next level of the running trial if its plan is a search; null: no further level,
   * another candidate promises more. Samplers without this method leave the levels to `nextLevel`.
   * After the search it is called for the baseline: it then returns the level from which the gain
   * is counted, if that was not measured yet.
   */
  level?(history: History, running: RunningTrial): number | LevelPoint | null;
  /**
   * Returns the suspected false-feasible readings: those that met the goal although the sampler
   * considers that unlikely. The best is chosen among the others if one of them met the goal too.
   * Samplers without this method trust every reading.
   */
  doubted?(history: History): readonly Doubted[];
  /**
   * Returns how much better than a candidate at a level any config of the space can be. Samplers
   * without this method cannot tell.
   */
  certify?(history: History, candidate: Candidate, level: LevelPoint): Certificate;
  /**
   * True if it may propose a candidate again at another level, so that a trial needs only one
   * measurement.
   */
  readonly comesBack?: boolean;
}

/** A reading of a finished trial: the index in its measurements. */
export interface Doubted {
  readonly trial: number;
  readonly reading: number;
}
