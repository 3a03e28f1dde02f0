import type { LoadLevel } from '../loadgen/types.ts';
import type { Measurement, ProfileProgress } from '../profiler/measurement.ts';
import type { Assignment, Candidate } from '../space/types.ts';
import type { NoiseFloor } from '../study/noise-floor.ts';
import type { StudyRecord } from '../study/records.ts';
import type { SpeedChange } from '../study/speed/changes.ts';
import type { Foreseen } from '../study/types.ts';
import type { TraceSettings } from '../triton/types.ts';

export interface Applied {
  readonly candidate: Candidate;
  readonly change: 'none' | 'in-place' | 'full';
  readonly loadMs: number;
}

export interface Restored {
  readonly how: 'config' | 'reload' | 'unload' | 'nothing-changed';
  readonly verified: boolean;
  readonly detail: string;
}

/** Puts a candidate on the server and, at the end, the model back as it was. */
export interface Control {
  /** Resolves when the candidate serves and the config read back is the one sent. Errors: LOAD_REFUSED, CONFIG_MISMATCH, SERVER_*. */
  apply(candidate: Candidate, signal: AbortSignal): Promise<Applied>;
  /** What is not as `apply` left it, in words: another config, or no model at all; null when all is. Errors: SERVER_*. */
  changed(signal: AbortSignal): Promise<string | null>;
  /** Whether anything answers where the server is. */
  isReachable(signal: AbortSignal): Promise<boolean>;
  /** Safe to call at any time and more than once; never takes the run's signal, because it must finish. */
  restore(): Promise<Restored>;
}

export interface MeasureOptions {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: ProfileProgress) => void;
  /** The latency budget in force, which may have changed since the profile was made; absent for none. */
  readonly budgetMs?: number;
  /** Absent for one of the final, whose figures are reported. */
  readonly purpose?: MeasurePurpose;
}

/**
 * `search`: one of many that are compared, the best of which are measured again: it may be shorter. `rest`: shows what the latency is like
 * with a few requests in flight.
 */
export type MeasurePurpose = 'search' | 'rest';

export interface Profile {
  measure(applied: Applied, level: LoadLevel, options: MeasureOptions): Promise<Measurement>;
}

/** Lets the server trace requests for a while. */
export interface Tracing {
  /** The settings that tracing changes, as they are now, and the file on the server's disk. Errors: UNSUPPORTED where there is no file. */
  look(): Promise<{ readonly earlier: TraceSettings; readonly file: string }>;
  /** From here on every `rate`-th request is traced. */
  start(rate: number): Promise<void>;
  /** True when the settings read back are these. */
  putBack(earlier: TraceSettings): Promise<boolean>;
}

/** What the tuner tells whoever watches: every journal record, and the moments between them. */
export type TunerEvent =
  | StudyRecord
  | {
      readonly type: 'limits';
      readonly maxTrials: number | null;
      readonly timeBudgetSeconds: number | null;
      /** What the whole run takes as a rule; null while nothing says so. */
      readonly usualSeconds: number | null;
    }
  | {
      readonly type: 'proposed';
      readonly assignment: Assignment;
      readonly expectedGain: number | null;
      /** That its first measurement meets the goal, 0 to 1. */
      readonly chance: number | null;
      readonly foreseen: readonly Foreseen[];
    }
  | { readonly type: 'applying'; readonly trial: number }
  /** After the first measurement of a study, where that had a few requests in flight. */
  | ({ readonly type: 'noise-floor' } & NoiseFloor)
  | { readonly type: 'measuring'; readonly trial: number; readonly level: LoadLevel }
  | {
      readonly type: 'progress';
      readonly trial: number;
      readonly level: LoadLevel;
      readonly progress: ProfileProgress;
    }
  /** A measurement is taken once more: others had the CPU that the load generator lacked. */
  | { readonly type: 'starved'; readonly trial: number; readonly level: LoadLevel; readonly reason: string }
  /** The machine is slower or faster than what was told last. `usual`: the speed that figures are compared at. */
  | ({ readonly type: 'speed-changed'; readonly usual: number } & SpeedChange)
  | { readonly type: 'restoring' };
