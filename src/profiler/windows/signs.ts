import { isPrecise } from '#stats/precision.ts';
import { defaultPrecision, type LevelOptions } from '../level-options.ts';
import type { WindowProgress } from '../progress.ts';
import type { WindowedFigures } from './figures.ts';
import type { WindowLog } from './log.ts';

/** A budget that is missed by at least this factor counts as missed at the first check. */
const FAR_MISS = 1.25;

export const toProgress = (
  log: WindowLog,
  figures: WindowedFigures,
  { requests, percentile }: LevelOptions,
): WindowProgress => ({
  phase: 'window',
  window: figures.windows,
  throughput: figures.rate.value * requests.batch,
  latencyMs: figures.percentileMs.value,
  latest: log.latest(percentile),
});

export const noSigns: Signs = { isStable: false, isMet: false, isMissed: false };

/** The verdict of the figures so far. */
export interface Signs {
  /**
   * Without a budget the percentile decides nothing, and its tail would extend every measurement to
   * the limit.
   */
  readonly isStable: boolean;
  readonly isMet: boolean;
  readonly isMissed: boolean;
}

export function computeSigns(
  { rate, percentileMs }: WindowedFigures,
  { precision = defaultPrecision, budgetMs }: LevelOptions,
): Signs {
  const isRatePrecise = isPrecise(rate, precision);
  return {
    isStable: isRatePrecise && (budgetMs === undefined || isPrecise(percentileMs, precision)),
    isMet: isRatePrecise && budgetMs !== undefined && percentileMs.high < budgetMs * (1 - precision),
    isMissed: budgetMs !== undefined && percentileMs.low > budgetMs * (1 + precision),
  };
}

/** True if the budget is missed by far. */
export const isFarAbove = (
  { percentileMs }: Pick<WindowedFigures, 'percentileMs'>,
  { budgetMs }: Pick<LevelOptions, 'budgetMs'>,
): boolean => budgetMs !== undefined && percentileMs.low > FAR_MISS * budgetMs;
