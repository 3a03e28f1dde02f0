import type { Measurement } from '../../profiler/measurement.ts';
import type { Interval } from '../../stats/interval.ts';
import type { Speeds } from './speeds.ts';

/** The speed was another one than before, by so much that a person is to know. */
export interface SpeedChange {
  /** Seconds of the study. */
  readonly atSeconds: number;
  /** From then on, relative to the study's first minute. */
  readonly speed: Interval;
  /** What was told last; at first the speed at the first measurement. */
  readonly before: number;
}

/** A change is told from this ratio on. */
const TOLD = 1.15;
/** Speeds within this ratio of each other are called steady. */
const HELD = 1.05;

type Course = Pick<Speeds, 'course'>;

/**
 * Returns the change from the speed that was told last to the latest one: by more than 15 %, and beyond doubt, so that the 95 % interval
 * of the new speed leaves the old one out; and at two measurements in a row, as one alone may have had a reason of its own. null for none.
 * `told`: as a multiple of the speed at the first measurement, 1 at first; unlike the first minute that stays what it is while the
 * minute goes on.
 */
export function latestChange(told: number, { course }: Course): SpeedChange | null {
  const [first] = course;
  return first ? changeAt(course, course.length - 1, told * first.speed.value) : null;
}

function changeAt(course: Course['course'], index: number, before: number): SpeedChange | null {
  const [earlier, now] = [course[index - 1], course[index]];
  if (!earlier || !now || !isChanged(now.speed, before)) return null;
  const isSameWay = earlier.speed.value > before === now.speed.value > before;
  return isSameWay && isChanged(earlier.speed, before) ? { atSeconds: now.atSeconds, speed: now.speed, before } : null;
}

function isChanged({ value, low, high }: Interval, before: number): boolean {
  return Math.max(value / before, before / value) > TOLD && (low > before || high < before);
}

/** What is told with the change, as `latestChange` takes it. */
export const toldBy = ({ speed }: SpeedChange, { course }: Course): number =>
  speed.value / (course[0]?.speed.value ?? speed.value);

/**
 * Returns all changes of a study, by what is known of its speeds now; in the order of time. What is told becomes the speed to compare
 * with, so that one that stays near the limit is told once.
 */
export function changesOf({ course }: Course): readonly SpeedChange[] {
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

/** The lowest and the highest speed of a study, and whether it held within 5 %. null where nothing was measured. */
export function rangeOf({
  course,
}: Course): { readonly lowest: number; readonly highest: number; readonly hasHeld: boolean } | null {
  if (course.length === 0) return null;
  const values = course.map(({ speed }) => speed.value);
  const [lowest, highest] = [Math.min(...values), Math.max(...values)];
  return { lowest, highest, hasHeld: highest <= HELD * lowest };
}

/** How many times the speed of a measurement the usual one is: the factor by which its throughput in a closed loop is compared. null where it is compared as it was measured. */
export const correctionOf = (speeds: Speeds, measurement: Measurement): number | null =>
  speeds.comparable(measurement) === measurement ? null : speeds.usual / speeds.of(measurement).value;
