import { formatMs, formatRate, formatRatio, plainLine } from '#base/format.ts';
import { describeBasis } from '#study/summary/deciding-figures.ts';
import { describeLevel, describeShare, describeThroughput } from '#study/summary/describe.ts';
import type { RankedModel, SeriesEntry, SeriesSummary } from '#study/summary/summary-schema.ts';
import { BASELINE } from '#tuner/run.ts';

/**
 * Returns the outcome of a series, one line for each model. `directory`: the directory of the
 * series.
 */
export function seriesLines({ models, ranking }: SeriesSummary, directory: string): string[] {
  const width = Math.max(...models.map(({ model }) => plainLine(model).length)) + 2;
  return [
    '',
    `results of the ${models.length} models:`,
    ...models.map((entry) => `${plainLine(entry.model).padEnd(width)}${verdictText(entry)}`),
    ...rankLines(ranking, width),
    `files: ${directory}`,
  ];
}

/**
 * The models were measured one after another, so only those with separate intervals have an order.
 */
function rankLines(ranking: readonly RankedModel[], width: number): string[] {
  if (ranking.length < 2) return [];
  const isShared = (rank: number): boolean => ranking.filter((other) => other.rank === rank).length > 1;
  const rows = ranking.map(({ model, rank, throughput, ofFirst }) => {
    const place = `${rank}${isShared(rank) ? '=' : '.'}`.padEnd(4);
    return `${place}${plainLine(model).padEnd(width)}${describeThroughput(throughput)}${ofFirst ? `, ${describeShare(ofFirst)} of the first` : ''}`;
  });
  return ['', 'ranked by throughput within their limits (= means no clear difference):', ...rows, ''];
}

function verdictText({ error, best, feasible, gain, verdict }: SeriesEntry): string {
  const failed = error ? [`${error.code}: ${plainLine(error.message, 120)}`] : [];
  if (!best) return failed[0] ?? 'nothing could be measured';
  const { throughput, load, budgetLatencyMs: latency, measured = best } = best;
  const basis = describeBasis(
    { measurement: measured, compared: best, feasible: feasible === true, chance: null },
    null,
  );
  const figures = `${formatRate(throughput.value ?? Number.NaN)} at ${describeLevel(load)}, p${latency.percentile} ${formatMs(latency.value ?? Number.NaN)}${basis}`;
  const missed = feasible ? [] : ['misses its limits'];
  const isOriginal = best.trial === BASELINE;
  const gained = isOriginal ? ['the original config'] : gain ? [`gain ${formatRatio(gain.ratio ?? Number.NaN)}`] : [];
  const unconfirmed = verdict === 'unconfirmed' ? ['gain not confirmed'] : [];
  return [figures, ...gained, ...unconfirmed, ...missed, ...failed].join('; ');
}
