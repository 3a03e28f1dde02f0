import type { LoadLevel } from '#loadgen/types.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { LevelPoint, LevelRange, Trial } from './types.ts';

/**
 * Returns the order of a study's levels: samples in flight where client batches vary, else the
 * level itself.
 */
export const findInFlight = ({ value, batch = 1 }: LevelPoint): number => value * batch;

/** True if two levels are the same load. */
export const isSameLevel = (a: LevelPoint, b: LevelPoint): boolean => a.value === b.value && a.batch === b.batch;

/** True if no level of the study is above this one. */
export const isHighest = (level: LevelPoint, { high, batch }: LevelRange): boolean =>
  level.value >= high && (batch === undefined || (level.batch ?? 1) >= batch.high);

/**
 * True if the study varies the client batch alone: the best batch for a given number of clients.
 */
export const variesBatchAlone = ({ low, high, batch }: LevelRange): boolean => batch !== undefined && low === high;

/**
 * Levels of one config that differ in one figure, its position: concurrency or request rate; where
 * the study varies the client batch alone, the batch; and where it varies both, concurrency at one
 * batch. Level curve, final and charts use positions.
 */
export interface LevelLine {
  readonly varies: 'level' | 'batch';
  /** The positions that the study considers. */
  readonly range: LevelRange;
  /** Returns the position of a level; null for one that is not on the line. */
  toPosition(level: LevelPoint): number | null;
  levelAt(position: number): LevelPoint;
}

/** Returns the line of the study's range through a level. */
export function lineThrough({ value, batch }: LevelPoint, range: LevelRange): LevelLine {
  const { mode, low, high } = range;
  if (!range.batch)
    return { varies: 'level', range, toPosition: (level) => level.value, levelAt: (position) => ({ value: position }) };
  if (variesBatchAlone(range))
    return {
      varies: 'batch',
      range: { mode, ...range.batch },
      toPosition: (level) => (level.value === value ? (level.batch ?? null) : null),
      levelAt: (position) => ({ value, batch: position }),
    };
  return {
    varies: 'level',
    range: { mode, low, high },
    toPosition: (level) => (level.batch === batch ? level.value : null),
    levelAt: (position) => ({ value: position, ...(batch !== undefined && { batch }) }),
  };
}

/**
 * Returns the measurement with its position on the line instead of its level; null for one that is
 * not on it.
 */
export function alongLine<M extends Pick<Measurement, 'level'>>(measurement: M, line: LevelLine): M | null {
  const value = line.toPosition(measurement.level);
  const level: LoadLevel = { mode: measurement.level.mode, value: value ?? 0 };
  return value === null ? null : { ...measurement, level };
}

/**
 * Returns the line that a trial stands on: through the level that it stands for; null without one.
 */
export function fitLine(
  { measurements, chosen }: Pick<Trial, 'measurements' | 'chosen'>,
  range: LevelRange,
): LevelLine | null {
  const stands = chosen === null ? undefined : measurements[chosen];
  return stands ? lineThrough(stands.level, range) : null;
}

/** Returns the trial with those of its measurements that are on the line, each at its position. */
export function trialAlong(trial: Trial, line: LevelLine): Trial {
  const on = trial.measurements.flatMap((measurement, index) => {
    const along = alongLine(measurement, line);
    return along ? [{ index, along }] : [];
  });
  const chosen = on.findIndex(({ index }) => index === trial.chosen);
  return { ...trial, measurements: on.map(({ along }) => along), chosen: chosen < 0 ? null : chosen };
}
