import { TrituneError } from '#base/errors.ts';
import type { Constraint, Objective } from '../types.ts';
import type { Metric } from './metrics/metric.ts';
import type { Metrics } from './metrics/registry.ts';

const number = String.raw`[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?`;
/**
 * A metric, perhaps of one model. The model's name may be almost any text: it extends to the last
 * sign that can follow.
 */
const metric = String.raw`[\w-]+(?:@.*\S)?`;
const constraintForm = new RegExp(`^\\s*(${metric})\\s*(<=|>=)\\s*(${number})\\s*([A-Za-z%/]*)\\s*$`);
const weightedForm = new RegExp(`^\\s*(${metric})\\s*:\\s*(${number})\\s*$`);
const objectiveForm = new RegExp(`^\\s*(${metric})\\s*$`);

/**
 * Returns the parser of `METRIC<=VALUE` and `METRIC>=VALUE` for these metrics. The value may carry
 * one of the metric's units (`8ms`, `4GiB`, `1%`); the constraint has it in the metric's own.
 * Errors of the parser: USAGE.
 */
export const constraintParser =
  (metrics: Metrics) =>
  (text: string): Constraint => {
    const parts = constraintForm.exec(text);
    if (!parts) {
      throw new TrituneError(
        'USAGE',
        `'${text}' is not a constraint`,
        "write METRIC<=VALUE or METRIC>=VALUE, such as 'latency-p50<=2.5ms'",
      );
    }
    const [, name = '', relation, value, unit = ''] = parts;
    const limit = Number(value) * unitFactor(metrics.named(name), unit, text);
    if (!Number.isFinite(limit) || limit < 0) {
      throw new TrituneError(
        'USAGE',
        `'${text}': the value must be a finite number of 0 or more`,
        "write for example 'latency-p50<=2.5ms'",
      );
    }
    if (unit === '' && limit > 1 && metrics.named(name).unit === 'fraction') {
      throw new TrituneError('USAGE', `'${text}' is ${100 * limit} %`, `write a share up to 1, or '${value}%'`);
    }
    return { metric: name, relation: relation as Constraint['relation'], value: limit };
  };

/**
 * Returns the parser of `NAME` and `NAME:WEIGHT` for these metrics; a weight is above zero. Errors
 * of the parser: USAGE.
 */
export const objectiveParser =
  (metrics: Metrics) =>
  (text: string): Objective => {
    const parts = weightedForm.exec(text) ?? objectiveForm.exec(text);
    const weight = Number(parts?.[2] ?? 1);
    if (!parts || !Number.isFinite(weight) || weight <= 0) {
      throw new TrituneError(
        'USAGE',
        `'${text}' is not an objective`,
        "write NAME or NAME:WEIGHT with a weight above 0, such as 'throughput:3'",
      );
    }
    return { metric: metrics.named(parts[1] as string).name, weight };
  };

/** Returns the help text of `--constraint`, with the names of the metrics. */
export const constraintHelp = (metrics: Metrics): string =>
  `Limit on a metric, such as 'gpu-memory<=8000'; repeatable. Metrics (units in docs/reference/metrics.md): ${metrics.names.join(', ')}`;

function unitFactor(metric: Metric, unit: string, text: string): number {
  if (unit === '') return 1;
  const factor = Object.hasOwn(metric.units, unit) ? metric.units[unit] : undefined;
  if (factor !== undefined) return factor;
  const known = Object.keys(metric.units);
  throw new TrituneError(
    'USAGE',
    `'${text}': '${unit}' is not a unit of ${metric.name}`,
    known.length > 0 ? `use ${known.join(', ')}, or no unit for ${metric.unit}` : 'write the value without a unit',
  );
}
