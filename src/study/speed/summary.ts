import type { Measurement } from '../../profiler/measurement.ts';
import { changesOf, correctionOf, rangeOf, type SpeedChange } from './changes.ts';
import type { Speeds } from './speeds.ts';

/** How fast the machine was while the study ran, relative to its first minute. */
export interface SpeedSummary {
  /** The speed that figures are compared at. */
  readonly usual: number;
  /** null where nothing was measured. */
  readonly lowest: number | null;
  readonly highest: number | null;
  /** By more than 15 %, and beyond doubt. */
  readonly changes: readonly SpeedChange[];
  /** Measurements that are compared by other figures than were measured; 0 where the speed held. */
  readonly corrected: number;
}

/** `counted`: the measurements that count. */
export function summarizeSpeed(speeds: Speeds, counted: readonly Measurement[]): SpeedSummary {
  const { lowest = null, highest = null } = rangeOf(speeds) ?? {};
  return {
    usual: speeds.usual,
    ...{ lowest, highest },
    changes: changesOf(speeds),
    corrected: counted.filter((measurement) => correctionOf(speeds, measurement) !== null).length,
  };
}
