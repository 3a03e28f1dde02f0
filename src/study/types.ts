import type { Accuracy } from '../loadgen/accuracy.ts';
import type { LoadLevel } from '../loadgen/types.ts';
import type { Measurement } from '../profiler/measurement.ts';
import type { RequestLimits } from '../queueing/continuous/request-limits.ts';
import type { Assignment, Candidate } from '../space/types.ts';
import type { CostTerms } from './goal/cost-terms.ts';
import type { Metrics } from './goal/metrics/registry.ts';

/** The budget on one latency percentile. */
export interface LatencyBudget {
  readonly percentile: number;
  readonly latencyMs: number;
}

/** `METRIC<=VALUE` or `METRIC>=VALUE`; the metric is one of the goal's registry, and the value is in its unit. */
export interface Constraint {
  readonly metric: string;
  readonly relation: '<=' | '>=';
  readonly value: number;
}

export interface Objective {
  readonly metric: string;
  readonly weight: number;
}

/** What is asked of the study: the objective, and what a measurement must satisfy to be feasible. */
export interface Goal {
  readonly budget: LatencyBudget | null;
  readonly constraints: readonly Constraint[];
  readonly objectives: readonly Objective[];
  /** What a good request of a language model keeps, in nanoseconds; absent where no limits were given. */
  readonly goodput?: RequestLimits;
  /** What the metrics of cost count by; absent where no prices were given. */
  readonly cost?: CostTerms;
  /** What the names of metrics mean; `builtInMetrics` where absent. Not in the journal: whoever reads one says it again. */
  readonly metrics?: Metrics;
}

/** The levels that a trial may be measured at, both included. */
export interface LevelRange {
  readonly mode: LoadLevel['mode'];
  readonly low: number;
  readonly high: number;
  /** Samples per request to consider, in a closed loop; absent: every request has the same number. */
  readonly batch?: { readonly low: number; readonly high: number };
}

/** A level in the mode of its study. */
export type LevelPoint = Omit<LoadLevel, 'mode'>;

/**
 * `search`: find the highest level that meets the goal, from `start` if given. `fixed`: measure exactly these. `batch`: the samples per
 * request of these levels, where the study varies them.
 */
export type LevelPlan =
  | { readonly kind: 'search'; readonly start?: number; readonly batch?: number }
  | { readonly kind: 'fixed'; readonly values: readonly number[]; readonly batch?: number };

export type FailureKind =
  | 'illegal' // breaks a rule of the space or of Triton's; never sent
  | 'pruned' // must fail because another candidate did
  | 'invalid-config' // the server could not parse it
  | 'out-of-memory'
  | 'no-gpu'
  | 'init-failed'
  | 'build-failed' // the command that makes the variant's files did not end well
  | 'upload-refused' // the server does not take the variant's files
  | 'inaccurate' // its outputs differ from the expected ones by more than is allowed
  | 'load-timeout'
  | 'config-mismatch' // the config read back is not the one sent
  | 'requests-failed' // loaded, but did not serve
  | 'client-bound' // every measurement was limited by the load generator
  | 'metric-missing' // measured, but without a metric that the goal needs
  | 'skipped' // left by the person who watches, before anything was measured
  | 'server-lost';

export interface TrialFailure {
  readonly kind: FailureKind;
  /** For people; the server's own words where it spoke. */
  readonly reason: string;
}

/** baseline: the original config. search: proposed by the sampler. */
export type TrialRole = 'baseline' | 'search';

/**
 * A finished trial: one candidate at the load levels of one plan.
 * `chosen` is the index in `measurements` of the level it stands for: the best feasible one, or the least infeasible one
 * when none is feasible; null when nothing was measured.
 */
export interface Trial {
  readonly number: number;
  readonly role: TrialRole;
  readonly candidate: Candidate;
  /** How it got onto the server and how long that took; absent when it never did. */
  readonly applied?: {
    readonly change: 'none' | 'in-place' | 'full';
    readonly loadMs: number;
    /** How long it took to make its files; absent where nothing had to be made. */
    readonly buildMs?: number;
    /** How its outputs compare with the expected ones; absent where they were not compared. */
    readonly accuracy?: Accuracy;
  };
  readonly measurements: readonly Measurement[];
  readonly chosen: number | null;
  readonly feasible: boolean;
  readonly failure: TrialFailure | null;
}

/** A trial under way on another server: its outcome is not known yet. */
export interface PendingTrial {
  readonly number: number;
  readonly candidate: Candidate;
  /** Where it is measured; null where the level search decides that as it goes. */
  readonly level: LevelPoint | null;
}

/** What a sampler sees: finished trials in the order of their numbers, the baseline first when it was measured. */
export interface History {
  readonly trials: readonly Trial[];
  /** What other servers try meanwhile; absent for one server alone. */
  readonly pending?: readonly PendingTrial[];
}

/** A search that could end early costs no more than was expected by going on; one that is late takes more. */
export type Pace = 'early' | 'late';

/** What is left; Infinity where there is no limit. */
export interface Remaining {
  readonly trials: number;
  readonly seconds: number;
  /** Beside what such a search takes as a rule; absent where it is within that, or nothing says so. */
  readonly pace?: Pace;
}

/** A point of the predicted front, over what is not measured yet. */
export interface PredictedPoint {
  /** infer/s. */
  readonly throughput: number;
  /** Milliseconds, at the goal's percentile. */
  readonly latencyMs: number;
  /** Of a language model: output tokens per second, of all and as one user sees them. The front is one of these two then. */
  readonly tokens?: { readonly perSecond: number; readonly perUser: number };
}

/** What holds the best trial so far back, where models are tuned together: by the performance model, before anything is tried. */
export interface Bottleneck {
  readonly trial: number;
  /** The model that gains most by one more instance. */
  readonly stage: string;
  /** How busy its instances are, 0 to 1. */
  readonly utilization: number;
  /** Throughput with one more instance over that without, at the same requests in flight; at a request rate the same of mean latencies, inverted. */
  readonly gain: number;
  /** What is used up, where no instance of any model helps: `gpu` or `cpu`. */
  readonly device?: string;
}

export type Proposal = {
  readonly kind: 'trial';
  readonly assignment: Assignment;
  readonly levels: LevelPlan;
  /** How much better than the best so far the sampler expects the best after one trial to be, as a share; where it has a notion. */
  readonly expectedGain?: number;
  /** The chance that its first measurement meets the goal, 0 to 1; where the sampler has a notion. */
  readonly chance?: number;
  /** Where it has a notion: the throughput/latency front of what is left, of a language model that of tokens, by rising throughput. */
  readonly foreseen?: readonly PredictedPoint[];
  /** Values of settings that no trial has shown, as `name=value`; where the sampler looks for them. */
  readonly unseen?: readonly string[];
  /** Why candidates like this one are looked at, where models are tuned together. */
  readonly bottleneck?: Bottleneck;
};

/** A trial that a person asks for. */
export type Wish = Pick<Proposal, 'assignment' | 'levels'>;

export type Stop = { readonly kind: 'stop'; readonly reason: string };

/** A trial under way, with what was measured of it so far. */
export interface RunningTrial {
  readonly number: number;
  readonly role: TrialRole;
  readonly candidate: Candidate;
  readonly measurements: readonly Measurement[];
}

/** Pure: the same seed and history give the same answer, so that a resumed study goes on as it would have. */
export interface Sampler {
  /** A stop while trials are pending says that nothing is worth a trial before one of them has finished. */
  ask(history: History, remaining: Remaining): Proposal | Stop;
  /**
   * Where to measure the running trial next when its plan is a search; null: nowhere, another candidate promises more.
   * Samplers without it leave the levels to `nextLevel`. Asked of the finished baseline when the search is over: the level of its own
   * that the gain is to be counted from, where that was not measured yet.
   */
  level?(history: History, running: RunningTrial): number | LevelPoint | null;
  /**
   * Returns the suspected false-feasible readings: those that met the goal although the sampler takes that for unlikely. The best is looked
   * for among the others while one of them met the goal too. Samplers without such a judgement take every reading at its word.
   */
  doubted?(history: History): readonly Doubted[];
  /** True where it proposes a candidate again for another level, so that one measurement is enough for a trial. */
  readonly comesBack?: boolean;
}

/** A reading of a finished trial: the index in its measurements. */
export interface Doubted {
  readonly trial: number;
  readonly reading: number;
}
