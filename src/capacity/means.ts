import type { Clock } from '#base/clock.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { Interval } from '#stats/interval.ts';
import type { CapacityLoads, PlayedLoad } from './loads.ts';

/** An event of a run, for observers. */
export type CapacityEvent =
  | {
      readonly type: 'closed-loop';
      readonly measurement: Measurement;
      /** Requests served per second. */
      readonly perSecond: number;
    }
  | { readonly type: 'trying'; readonly perSecond: number; readonly interval: Interval }
  | {
      readonly type: 'tried';
      readonly measurement: Measurement;
      readonly isKept: boolean;
      /** null before two readings, while the value is only a guess. */
      readonly interval: Interval | null;
    }
  | { readonly type: 'client-limit'; readonly perSecond: number; readonly reason: string; readonly again: boolean }
  | { readonly type: 'at-capacity'; readonly perSecond: number }
  | { readonly type: 'beyond'; readonly factor: number; readonly perSecond: number; readonly seconds: number }
  | { readonly type: 'burst'; readonly perSecond: number; readonly interval: Interval }
  | { readonly type: 'burst-played'; readonly perSecond: number; readonly isKept: boolean; readonly load: PlayedLoad };

/** What a run works with. */
export interface CapacityMeans {
  readonly loads: CapacityLoads;
  readonly clock: Clock;
  readonly onEvent: (event: CapacityEvent) => void;
}
