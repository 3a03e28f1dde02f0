import { countInstances } from '#triton/config/instances.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { busyInstances, meanBatch } from './execution-law.ts';
import { type CounterReading, type ModelWork, readServed, readTimesMs } from './readings.ts';

/** What a model does now, for a page that keeps looking. */
export interface LiveModel {
  readonly name: string;
  /** Requests per second lately; 0 without any. */
  readonly perSecond: number;
  readonly failedPerSecond: number;
  /** Requests per second between readings, the latest last. */
  readonly course: readonly number[];
  /** Mean times of a request lately; null without one. */
  readonly timesMs: { readonly queue: number; readonly execution: number; readonly other: number } | null;
  readonly meanBatch: number;
  readonly busy: number;
  /** In the config; null until that is read. */
  readonly instances: number | null;
}

/** Intervals between readings over which figures are means. */
const LATE_READINGS = 10;
/** Intervals that a course shows. */
const COURSE_READINGS = 60;

/** Returns what the models do now, the busiest first. `readings`: rising in time. */
export function summarizeLive(
  readings: readonly CounterReading[],
  configs: ReadonlyMap<string, ModelConfig>,
): readonly LiveModel[] {
  if (readings.length < 2) return [];
  const late = readServed(readings.slice(-LATE_READINGS - 1));
  const courses = readServed(readings.slice(-COURSE_READINGS - 1));
  return [...late]
    .map(([name, work]) => toLiveModel(name, work, courses.get(name) ?? work, configs.get(name)))
    .toSorted((a, b) => b.perSecond - a.perSecond || a.name.localeCompare(b.name));
}

function toLiveModel(name: string, work: ModelWork, course: ModelWork, config: ModelConfig | undefined): LiveModel {
  const { seconds, breakdown } = work;
  const rates = course.intervals.map((each) => (each.breakdown?.successCount ?? 0) / each.seconds);
  const instances = config ? countInstances(config) : null;
  if (!breakdown)
    return { name, perSecond: 0, failedPerSecond: 0, course: rates, timesMs: null, meanBatch: 0, busy: 0, instances };
  return {
    name,
    perSecond: breakdown.successCount / seconds,
    failedPerSecond: breakdown.failCount / seconds,
    course: rates,
    timesMs: readTimesMs(breakdown),
    meanBatch: meanBatch(breakdown),
    busy: busyInstances({ seconds, breakdown }),
    instances,
  };
}
