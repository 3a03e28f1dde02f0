import type { Measurement } from '#profiler/measurement.ts';
import type { Interval } from '#stats/interval.ts';
import { findGpuCause, type GpuCause } from './gpu-cause.ts';
import type { Speeds } from './speeds.ts';

/** A change of the speed worth reporting. */
export interface SpeedChange {
  /** Seconds of the study. */
  readonly atSeconds: number;
  /** The new speed, relative to the study's first minute. */
  readonly speed: Interval;
  /** The last reported speed; at first that of the first measurement. */
  readonly before: number;
  /** The GPU whose clock or programs changed with it; null if none did, or neither is known. */
  readonly gpu: GpuCause | null;
}

/** The ratio from which on changes are reported. */
const TOLD = 1.15;
/** Speeds within this ratio are called steady. */
const HELD = 1.05;

/** Measurements before a change whose clocks are compared with those after it. */
const CLOCKS_BEFORE = 3;

type Course = Pick<Speeds, 'course'>;

/**
 * Returns the change from the last reported speed to the latest one, or null: by more than 15 %,
 * with the old speed outside the new one's 95 % interval, and at two measurements in a row, because
 * one alone may have other causes. `lastShown`: the last reported speed as a multiple of that at
 * the first measurement, 1 at first; unlike the first minute's speed that is constant from the
 * start.
 */
export function latestChange(lastShown: number, { course }: Course): SpeedChange | null {
  const [first] = course;
  return first ? changeAt(course, course.length - 1, lastShown * first.speed.value) : null;
}

function changeAt(course: Course['course'], index: number, before: number): SpeedChange | null {
  const [earlier, now] = [course[index - 1], course[index]];
  if (!earlier || !now || !isChanged(now.speed, before)) return null;
  const isSameWay = earlier.speed.value > before === now.speed.value > before;
  if (!isSameWay || !isChanged(earlier.speed, before)) return null;
  const gpus = course.slice(Math.max(0, index - 1 - CLOCKS_BEFORE), index - 1).map((each) => each.gpus ?? []);
  const gpu = findGpuCause(gpus, now.gpus ?? [], now.speed.value / before);
  return { atSeconds: now.atSeconds, speed: now.speed, before, gpu };
}

function isChanged({ value, low, high }: Interval, before: number): boolean {
  return Math.max(value / before, before / value) > TOLD && (low > before || high < before);
}

/** Returns `told` after the change, for the next call of `latestChange`. */
export const reportedBy = ({ speed }: SpeedChange, { course }: Course): number =>
  speed.value / (course[0]?.speed.value ?? speed.value);

/**
 * Returns all changes of a study in order of time, by the current estimate of its speeds. A
 * reported speed becomes the reference, so that a speed near the threshold is reported once.
 */
export function listChanges({ course }: Course): readonly SpeedChange[] {
  const changes: SpeedChange[] = [];
  let before = course[0]?.speed.value ?? 1;
  for (const index of course.keys()) {
    const change = changeAt(course, index, before);
    if (!change) continue;
    changes.push(change);
    before = change.speed.value;
  }
  return changes;
}

/**
 * Returns the range of a study's speeds, and whether they held within 5 %. null without
 * measurements.
 */
export function findRange({
  course,
}: Course): { readonly lowest: number; readonly highest: number; readonly hasHeld: boolean } | null {
  if (course.length === 0) return null;
  const values = course.map(({ speed }) => speed.value);
  const [lowest, highest] = [Math.min(...values), Math.max(...values)];
  return { lowest, highest, hasHeld: highest <= HELD * lowest };
}

/**
 * Returns the factor by which a measurement's closed-loop throughput is corrected: usual speed over
 * its own. null if it is compared as measured.
 */
export const findCorrection = (speeds: Speeds, measurement: Measurement): number | null =>
  speeds.comparable(measurement) === measurement ? null : speeds.usual / speeds.of(measurement).value;

/** Returns the measurement as it is compared; null if it is compared as measured. */
export const correctMeasurement = (speeds: Speeds, measurement: Measurement): Measurement | null =>
  findCorrection(speeds, measurement) === null ? null : speeds.comparable(measurement);
