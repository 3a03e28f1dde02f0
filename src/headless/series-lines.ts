import { formatMs, formatRate, formatRatio, plainLine } from '../base/format.ts';
import { describeLevel } from '../study/summary/describe.ts';
import type { SeriesEntry, SeriesSummary } from '../study/summary/series-summary.ts';
import { BASELINE } from '../tuner/run.ts';

/** Returns the outcome of a series, a line for each model. `directory` is the directory of the series. */
export function seriesLines({ models }: SeriesSummary, directory: string): string[] {
  const width = Math.max(...models.map(({ model }) => plainLine(model).length)) + 2;
  return [
    '',
    `the ${models.length} models:`,
    ...models.map((entry) => `${plainLine(entry.model).padEnd(width)}${verdict(entry)}`),
    `all in ${directory}`,
  ];
}

function verdict({ error, best, feasible, gain }: SeriesEntry): string {
  const failed = error ? [`${error.code}: ${plainLine(error.message, 120)}`] : [];
  if (!best) return failed[0] ?? 'nothing could be measured';
  const { throughput, load, budgetLatencyMs: latency } = best;
  const figures = `${formatRate(throughput.value ?? Number.NaN)} at ${describeLevel(load)}, p${latency.percentile} ${formatMs(latency.value ?? Number.NaN)}`;
  const missed = feasible ? [] : ['over its limits'];
  const isOriginal = best.trial === BASELINE;
  const gained = isOriginal ? ['the original config'] : gain ? [`gain ${formatRatio(gain.ratio ?? Number.NaN)}`] : [];
  return [figures, ...gained, ...missed, ...failed].join('; ');
}
