import { formatFigure } from '#base/format.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { representative } from '#study/final/final.ts';
import { metricCell } from '#study/goal/metrics/format.ts';
import type { Metric } from '#study/goal/metrics/metric.ts';
import { toMetrics } from '#study/goal/metrics/registry.ts';
import { goalMetrics } from '#study/goal/metrics/shown.ts';
import type { StudyState } from '#study/records/state.ts';
import type { Trial } from '#study/types.ts';
import { finalMark } from '../figures.ts';
import { foreign, left, type Row, right, row, type Span, span } from '../rows.ts';

/** A trial and the figures that decide on it. */
interface Standing {
  readonly trial: Trial;
  readonly measurement: Measurement;
}

/** Returns the trial's name in a sentence. */
export const formatName = ({ role, number }: Trial): string =>
  role === 'baseline' ? 'the original' : `trial ${number}`;

/**
 * Returns the figures of both trials side by side, as they are compared, and the change from the
 * marked one to the other.
 */
export function comparisonRows(study: StudyState, marked: Trial, trial: Trial, width: number): readonly Row[] {
  const [otherStand, ownStand] = [representative(study, marked), representative(study, trial)];
  if (!otherStand || !ownStand) return [];
  const [other, standing]: [Standing, Standing] = [
    { trial: marked, measurement: otherStand.compared },
    { trial, measurement: ownStand.compared },
  ];
  const [otherMark, ownMark] = [finalMark(study, otherStand.measurement), finalMark(study, ownStand.measurement)];
  const lines = comparedIn(study, standing.measurement);
  const names = namesIn(lines, width);
  const rows = lines.flatMap(({ read, cell, better }, index): Row[] => {
    const [before, after] = [read(other), read(standing)];
    if (before === undefined || after === undefined) return [];
    const figures = `  ${names[index] ?? ''}${right(cell(before), 8)}${otherMark}→ ${right(cell(after), 7)}${ownMark} `;
    return [[span(figures), changeSpan(after, before, better)]];
  });
  return [row(left(`  against ${formatName(marked)}, side by side`, width), 'muted'), ...rows];
}

/** Columns of a row besides the name and the longest change. */
const FIGURES_WIDTH = 30;
const MIN_NAME = 10;

/** Returns the names in one width, without the unit if it does not fit. */
function namesIn(lines: readonly Compared[], width: number): readonly string[] {
  const longest = Math.max(...lines.map(({ name }) => name.length));
  const most = Math.max(MIN_NAME, Math.min(longest, width - FIGURES_WIDTH));
  return lines.map(({ name, label }) => left(name.length <= most ? name : label, most));
}

interface Compared {
  /** The name including its unit. */
  readonly name: string;
  readonly label: string;
  readonly better: Metric['better'] | null;
  /** Returns undefined if it was not measured. */
  readonly read: (of: Standing) => number | undefined;
  readonly cell: (value: number) => string;
}

const ALWAYS = ['throughput', 'latency', 'latency-p50', 'queue-time', 'compute-time', 'gpu-memory'];

/**
 * Returns the compared figures: the metrics of every study, those of the goal, and the level of
 * both measurements.
 */
function comparedIn({ goal }: StudyState, { budgetLatencyMs }: Measurement): readonly Compared[] {
  const metrics = toMetrics(goal);
  const named = (name: string): Compared => metricLine(metrics.named(name));
  const percentile = { ...metrics.named('latency'), label: `p${budgetLatencyMs.percentile}` };
  const level: Compared = {
    name: 'at',
    label: 'at',
    better: null,
    cell: formatFigure,
    read: ({ measurement }) => measurement.level.value,
  };
  const batch: Compared = {
    name: 'batch',
    label: 'batch',
    better: null,
    cell: formatFigure,
    read: ({ measurement }) => measurement.level.batch,
  };
  return [
    { ...named('throughput'), name: metrics.named('throughput').unit },
    metricLine(percentile),
    named('latency-p50'),
    level,
    batch,
    ...['queue-time', 'compute-time', 'gpu-memory'].map(named),
    ...goalMetrics(goal, ALWAYS).map(metricLine),
  ];
}

const metricLine = (metric: Metric): Compared => ({
  name: foreign(metric.format ? metric.label : `${metric.label} ${metric.unit}`),
  label: foreign(metric.label),
  better: metric.better,
  read: ({ trial, measurement }) => {
    const value = metric.read(measurement, trial.candidate);
    return Number.isFinite(value) ? value : undefined;
  },
  cell: (value) => foreign(metricCell(metric, value)),
});

/** From this ratio on, a change is shown as a ratio. */
const MANY_TIMES = 10;

function changeSpan(after: number, before: number, better: Compared['better']): Span {
  const percent = before > 0 ? (after / before - 1) * 100 : Number.NaN;
  if (!Number.isFinite(percent)) return span('');
  const change = `${percent >= 0 ? '+' : ''}${percent.toFixed(Math.abs(percent) < 99.95 ? 1 : 0)} %`;
  const text = after / before < MANY_TIMES ? change : `${formatFigure(after / before)}×`;
  if (better === null || Math.abs(percent) < 1) return span(text);
  return span(text, percent > 0 === (better === 'higher') ? 'good' : 'bad');
}
