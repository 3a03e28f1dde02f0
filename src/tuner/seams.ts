import type { LoadLevel } from '../loadgen/types.ts';
import type { ProfileProgress } from '../profiler/measurement.ts';
import type { Assignment } from '../space/types.ts';
import type { StudyRecord, TraceSettings } from '../study/records/records.ts';
import type { SpeedChange } from '../study/speed/changes.ts';
import type { NoiseFloor } from '../study/summary/noise-floor.ts';
import type { Bottleneck, PredictedPoint } from '../study/types.ts';

/** Lets the server trace requests for a while. */
export interface Tracing {
  /** The settings that tracing changes, as they are now, and the file on the server's disk. Errors: UNSUPPORTED where there is no file. */
  look(): Promise<{ readonly earlier: TraceSettings; readonly file: string }>;
  /** From here on every `rate`-th request is traced, `count` at most; any number where none is given. */
  start(rate: number, count?: number): Promise<void>;
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
      /** Predicted chance that its first measurement meets the goal, 0 to 1. */
      readonly chance: number | null;
      readonly foreseen: readonly PredictedPoint[];
      /** Absent for one model alone. */
      readonly bottleneck?: Bottleneck;
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
