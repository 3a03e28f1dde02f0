import { formatFigure, type RateUnit } from '#base/format.ts';
import type { Metric } from './metric.ts';

/** Returns the metric; one of inferences with what the study's throughput counts. */
export const countedIn = (metric: Metric, unit: RateUnit): Metric =>
  metric.unit === 'infer/s' ? { ...metric, unit } : metric;

/**
 * Returns the head of a table's column: `GPU memory, MiB`. The unit is left out where the cells
 * have it.
 */
export const metricHead = (metric: Metric): string =>
  hasBareCells(metric) ? `${metric.label}, ${metric.unit}` : metric.label;

/**
 * Returns the value for a column with that head: three significant digits, – for what was not
 * measured.
 */
export function metricCell(metric: Metric, value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return formatFigure(Number.NaN);
  return metric.format?.(value) ?? formatFigure(value);
}

/** Returns the value with its unit, to stand by itself: `2,048 MiB`. */
export function metricText(metric: Metric, value: number | undefined): string {
  const cell = metricCell(metric, value);
  return hasBareCells(metric) && value !== undefined ? `${cell} ${metric.unit}` : cell;
}

/** The number stands without its unit, and there is one. */
const hasBareCells = ({ unit, format }: Metric): boolean => unit !== '' && format === undefined;
