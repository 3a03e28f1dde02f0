import type { Metric, MetricColumn } from './metric.ts';
import { nameOfModel, partsOfName } from './of-model.ts';

/** Returns the columns of `results.csv` that hold the metric. */
export function listColumns(metric: Metric): readonly MetricColumn[] {
  if (metric.columns) return metric.columns;
  const { interval } = metric;
  const { base, model } = partsOfName(metric.name);
  const column = [snake(base), unitName(metric.unit)].filter((part) => part !== '').join('_');
  const named = (name: string): string => (model === undefined ? name : nameOfModel(name, model));
  return [
    { name: named(column), read: (measurement, candidate) => metric.read(measurement, candidate) },
    ...(interval
      ? [
          {
            name: named(`${column}_low`),
            read: (measurement, candidate) => interval.of(measurement, candidate).low,
          } satisfies MetricColumn,
          {
            name: named(`${column}_high`),
            read: (measurement, candidate) => interval.of(measurement, candidate).high,
          } satisfies MetricColumn,
        ]
      : []),
  ];
}

const snake = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_|_$/g, '');

/** `infer/s` → `infer_per_s`, `%` → `percent`. */
const unitName = (unit: string): string => snake(unit.replaceAll('%', ' percent ').replaceAll('/', ' per '));
