import type { Measurement } from '#profiler/measurement.ts';
import type { SpeedSummary } from '../summary/context-schema.ts';
import { findCorrection, findRange, listChanges } from './changes.ts';
import type { Speeds } from './speeds.ts';

/** Summarises the speeds of a study. `counted`: the measurements that count. */
export function summarizeSpeed(speeds: Speeds, counted: readonly Measurement[]): SpeedSummary {
  const { lowest = null, highest = null } = findRange(speeds) ?? {};
  return {
    usual: speeds.usual,
    lowest,
    highest,
    changes: listChanges(speeds),
    corrected: counted.filter((measurement) => findCorrection(speeds, measurement) !== null).length,
  };
}
