import type { Measurement } from '../../profiler/measurement.ts';
import { changesOf, correctionOf, rangeOf, type SpeedChange } from './changes.ts';
import type { Speeds } from './speeds.ts';

/** The speed of the machine during a study, relative to its first minute. */
export interface SpeedSummary {
  /** The usual speed, at which figures are compared. */
  readonly usual: number;
  /** null without measurements. */
  readonly lowest: number | null;
  readonly highest: number | null;
  /** Changes by more than 15 % and outside the 95 % interval. */
  readonly changes: readonly SpeedChange[];
  /** Measurements that are corrected for the speed. */
  readonly corrected: number;
}

/** Summarises the speeds of a study. `counted`: the measurements that count. */
export function summarizeSpeed(speeds: Speeds, counted: readonly Measurement[]): SpeedSummary {
  const { lowest = null, highest = null } = rangeOf(speeds) ?? {};
  return {
    usual: speeds.usual,
    lowest,
    highest,
    changes: changesOf(speeds),
    corrected: counted.filter((measurement) => correctionOf(speeds, measurement) !== null).length,
  };
}
