import { formatFigure } from '#base/format.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { StudyState } from '#study/records/state.ts';
import { shortLevel } from '#study/summary/describe.ts';

/** The widths of the table's columns, with the space before each. */
export interface TrialWidths {
  readonly number: number;
  readonly throughput: number;
  readonly latency: number;
  readonly level: number;
  /** All columns before the config. */
  readonly before: number;
}

const MIN: Omit<TrialWidths, 'before'> = { number: 3, throughput: 8, latency: 9, level: 5 };
/** The columns of marks and spaces between the others. */
const MARK_COLUMNS = 6;

/**
 * Returns the widths at which the longest number, figure and level of the study have a space before
 * them.
 */
export function computeTrialWidths(study: StudyState | null): TrialWidths {
  const { trials = [], finals = [] } = study ?? {};
  const measured = [...trials.flatMap((trial) => trial.measurements), ...finals.map(({ measurement }) => measurement)];
  const measurements = study ? measured.map((each) => study.speeds.comparable(each)) : [];
  const levels = new Map(measurements.map(({ level }) => [`${level.value} ${level.batch ?? ''}`, level]));
  const { high = 0, batch } = study?.started.levels ?? {};
  const highest = { value: high, ...(batch && { batch: batch.high }) };
  // With three digits for small figures, the largest one is the longest beyond the least width.
  const largest = (of: (measurement: Measurement) => number): string =>
    formatFigure(measurements.reduce((most, each) => Math.max(most, Number.isFinite(of(each)) ? of(each) : 0), 0));
  const widths = {
    number: Math.max(MIN.number, `${trials.length}`.length),
    throughput: Math.max(MIN.throughput, 1 + largest(({ throughput }) => throughput.value).length),
    latency: Math.max(MIN.latency, 1 + largest(({ budgetLatencyMs }) => budgetLatencyMs.value).length),
    level: Math.max(MIN.level, ...[highest, ...levels.values()].map((level) => 1 + shortLevel(level).length)),
  };
  return { ...widths, before: MARK_COLUMNS + widths.number + widths.throughput + widths.latency + widths.level };
}
