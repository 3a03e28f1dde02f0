import { median } from 'simple-statistics';
import type { BatcherPolicy } from '../batcher-policy.ts';
import { type Calibration, calibrate } from './calibrate.ts';
import { computeMisses } from './loss.ts';
import { type PredictedRow, predictRow } from './model.ts';
import { type CalibrationRow, isOneAtATime } from './row.ts';

/** A calibration from some rows of a table, with its predictions of all rows of traffic. */
export type HeldOut = {
  readonly calibration: Calibration;
  /** Rows of traffic in the order of the table. */
  readonly rows: readonly {
    readonly row: CalibrationRow;
    readonly predicted: PredictedRow;
    readonly isUsed: boolean;
  }[];
  /** Median of |predicted / measured − 1| over the rows that were not used; null when all were. */
  readonly medianMiss: { readonly throughput: number; readonly p50: number } | null;
};

/** Low, middle and high concurrency; published tables of this kind go from 8 to 256. */
const USUAL_LEVELS = [8, 64, 256];

/**
 * Returns three informative levels: 8, 64 and 256 if the rows have them, else the lowest, middle
 * and highest.
 */
export function levelsToFit(rows: readonly CalibrationRow[]): number[] {
  const levels = [...new Set(rows.filter((row) => !isOneAtATime(row)).map(({ concurrency }) => concurrency))].sort(
    (a, b) => a - b,
  );
  if (USUAL_LEVELS.every((level) => levels.includes(level))) return USUAL_LEVELS;
  return outerAndMiddle(levels);
}

/** Returns the first, the middle and the last of rising levels. */
export function outerAndMiddle(levels: readonly number[]): number[] {
  const places = [0, (levels.length - 1) >> 1, levels.length - 1];
  return [...new Set(places)].flatMap((place) => levels[place] ?? []);
}

/**
 * Calibrates from the rows of lone requests and those at the given levels, and predicts the rest.
 * Throws as `calibrate`.
 */
export function predictHeldOut(
  rows: readonly CalibrationRow[],
  policy: BatcherPolicy,
  levels: readonly number[],
): HeldOut {
  const isUsed = (row: CalibrationRow): boolean => isOneAtATime(row) || levels.includes(row.concurrency);
  const calibration = calibrate(rows.filter(isUsed), policy);
  const shownMisses = rows
    .filter((row) => !isOneAtATime(row))
    .map((row) => ({
      row,
      predicted: predictRow(calibration.server, row.concurrency, row.samplesPerRequest),
      isUsed: isUsed(row),
    }));
  const misses = shownMisses.filter((each) => !each.isUsed).map((each) => computeMisses(each.predicted, each.row));
  return {
    calibration,
    rows: shownMisses,
    medianMiss:
      misses.length === 0
        ? null
        : {
            throughput: median(misses.map(({ throughput }) => throughput)),
            p50: median(misses.map(({ p50 }) => p50)),
          },
  };
}
