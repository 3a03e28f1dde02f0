import type { RateUnit } from '#base/format.ts';
import type { Trial } from '../types.ts';

/**
 * What a measurement, or a point of the summary, shows about its unit: tokens of a language model,
 * replies of plain HTTP. A measurement under workloads has the replies in each of these.
 */
interface Counted {
  readonly tokens?: unknown;
  readonly replies?: { readonly batch?: number | undefined } | undefined;
  readonly rateUnit?: RateUnit | undefined;
  /** Those of a point are by name. */
  readonly workloads?: readonly Counted[] | Readonly<Record<string, unknown>> | undefined;
}

/**
 * Returns the unit of a throughput: that of a language model and of plain HTTP counts requests,
 * unless each has several inferences.
 */
export function chooseRateUnit({ tokens, replies, rateUnit, workloads }: Counted): RateUnit {
  if (rateUnit !== undefined) return rateUnit;
  const first: Counted | undefined = Array.isArray(workloads) ? workloads[0] : undefined;
  if (first) return chooseRateUnit(first);
  return tokens || (replies && !replies.batch) ? 'requests/s' : 'infer/s';
}

/** The same for tables and axes of a whole study. */
export const rateUnitOfStudy = ({ trials }: { readonly trials: readonly Pick<Trial, 'measurements'>[] }): RateUnit =>
  chooseRateUnit(trials.find(({ measurements }) => measurements.length > 0)?.measurements[0] ?? {});

/** The head of a column of served rates beside one of the rates that were sent. */
export const servedRateHead = (measurement: Counted): string =>
  chooseRateUnit(measurement) === 'requests/s' ? 'served/s' : 'infer/s';
