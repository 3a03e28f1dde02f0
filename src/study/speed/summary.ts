import type { Measurement } from '../../profiler/measurement.ts';
import type { SpeedSummary } from '../summary/schema/context.ts';
import { changesOf, correctionOf, rangeOf } from './changes.ts';
import type { Speeds } from './speeds.ts';

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
