import type { Measurement } from '../../profiler/measurement.ts';
import type { Interval } from '../../stats/interval.ts';
import type { Speeds } from './speeds.ts';

/** The speed was another one than before, by so much that a person is to know. */
export interface SpeedChange {
  /** Seconds of the study. */
  readonly atSeconds: number;
  /** From then on, relative to the study's first minute. */
  readonly speed: Interval;
  /** What was told last; 1 at first. */
  readonly before: number;
}

/** A change is told from this ratio on. */
const TOLD = 1.15;
/** Speeds within this ratio of each other are called steady. */
const HELD = 1.05;

type Moment = Speeds['course'][number];

/**
 * Returns the change from the speed that was told last to the one of this moment: by more than 15 %, and beyond doubt, so that the 95 %
 * interval of the new speed leaves the old one out. null for none. What is told becomes the speed to compare with, so that one that stays
 * near the limit is told once.
 */
export function changeSince(told: number, { atSeconds, speed }: Moment): SpeedChange | null {
  const ratio = Math.max(speed.value / told, told / speed.value);
  const isSure = speed.low > told || speed.high < told;
  return ratio > TOLD && isSure ? { atSeconds, speed, before: told } : null;
}

/** Returns all changes of a study, by what is known of its speeds now; in the order of time. */
export function changesOf({ course }: Pick<Speeds, 'course'>): readonly SpeedChange[] {
  const changes: SpeedChange[] = [];
  for (const moment of course) {
    const change = changeSince(changes.at(-1)?.speed.value ?? 1, moment);
    if (change) changes.push(change);
  }
  return changes;
}

/** The lowest and the highest speed of a study, and whether it held within 5 %. null where nothing was measured. */
export function rangeOf({
  course,
}: Pick<Speeds, 'course'>): { readonly lowest: number; readonly highest: number; readonly hasHeld: boolean } | null {
  if (course.length === 0) return null;
  const values = course.map(({ speed }) => speed.value);
  const [lowest, highest] = [Math.min(...values), Math.max(...values)];
  return { lowest, highest, hasHeld: highest <= HELD * lowest };
}

/** How many times the speed of a measurement the usual one is: the factor by which its throughput in a closed loop is compared. null where it is compared as it was measured. */
export const correctionOf = (speeds: Speeds, measurement: Measurement): number | null =>
  speeds.comparable(measurement) === measurement ? null : speeds.usual / speeds.of(measurement).value;
