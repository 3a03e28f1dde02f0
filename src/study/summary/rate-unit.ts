import type { RateUnit } from '../../base/format.ts';
import type { Trial } from '../types.ts';

/**
 * What a measurement, or a point of the summary, shows about its unit: tokens of a language model,
 * replies of plain HTTP.
 */
interface Counted {
  readonly tokens?: unknown;
  readonly replies?: { readonly batch?: number | undefined } | undefined;
  readonly rateUnit?: RateUnit | undefined;
}

/**
 * Returns the unit of a throughput: that of a language model and of plain HTTP counts requests,
 * unless each has several inferences.
 */
export const rateUnitOf = ({
  tokens,
  replies,
  rateUnit = tokens || (replies && !replies.batch) ? 'requests/s' : 'infer/s',
}: Counted): RateUnit => rateUnit;

/** The same for tables and axes of a whole study. */
export const rateUnitOfStudy = ({ trials }: { readonly trials: readonly Pick<Trial, 'measurements'>[] }): RateUnit =>
  rateUnitOf(trials.find(({ measurements }) => measurements.length > 0)?.measurements[0] ?? {});
