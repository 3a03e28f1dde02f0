import type { LoadLevel } from '#loadgen/types.ts';
import type { ProfileProgress } from '#profiler/progress.ts';
import type { Assignment } from '#space/types.ts';
import type { RecordedTraceSettings, StudyRecord } from '#study/records/records.ts';
import type { SpeedChange } from '#study/speed/changes.ts';
import type { NoiseFloor } from '#study/summary/context-schema.ts';
import type { Bottleneck, PredictedPoint } from '#study/types.ts';

/** Switches tracing of requests on the server on and off. */
export interface Tracing {
  /**
   * Returns the current settings that tracing changes, and the file on the server's disk. Errors:
   * UNSUPPORTED without a file.
   */
  look(): Promise<{ readonly earlier: RecordedTraceSettings; readonly file: string }>;
  /** Starts tracing every `rate`-th request, at most `count` of them (default: no limit). */
  start(rate: number, count?: number): Promise<void>;
  /** Restores the settings. Returns true if the settings read back are equal. */
  putBack(earlier: RecordedTraceSettings): Promise<boolean>;
}

/** Events of the tuner for observers: every journal record, and progress between them. */
export type TunerEvent =
  | StudyRecord
  | {
      readonly type: 'limits';
      readonly maxTrials: number | null;
      readonly timeBudgetSeconds: number | null;
      /** Expected duration of the whole run; null while unknown. */
      readonly usualSeconds: number | null;
    }
  | {
      readonly type: 'proposed';
      readonly assignment: Assignment;
      readonly expectedGain: number | null;
      /** Predicted chance that its first measurement meets the goal, 0 to 1. */
      readonly chance: number | null;
      readonly foreseen: readonly PredictedPoint[];
      /** Absent for a single model. */
      readonly bottleneck?: Bottleneck;
    }
  | { readonly type: 'applying'; readonly trial: number }
  /** The server, or an agent, went away; the run waits for it, at most for `limitMs`. */
  | { readonly type: 'server-away'; readonly reason: string; readonly limitMs: number }
  /** After the first measurement of a study, if it had a few requests in flight. */
  | ({ readonly type: 'noise-floor' } & NoiseFloor)
  | { readonly type: 'measuring'; readonly trial: number; readonly level: LoadLevel }
  | {
      readonly type: 'progress';
      readonly trial: number;
      readonly level: LoadLevel;
      readonly progress: ProfileProgress;
    }
  /**
   * A measurement is repeated, because other processes had the CPU that the load generator lacked.
   */
  | { readonly type: 'starved'; readonly trial: number; readonly level: LoadLevel; readonly reason: string }
  /**
   * The machine is slower or faster than reported last. `usual`: the speed at which figures are
   * compared.
   */
  | ({ readonly type: 'speed-changed'; readonly usual: number } & SpeedChange)
  | { readonly type: 'restoring' };
