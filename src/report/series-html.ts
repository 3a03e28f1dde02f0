import { formatMs } from '#base/format.ts';
import { describeBasis } from '#study/summary/deciding-figures.ts';
import { describeAssignment, describeLevel, describeShare, describeThroughput } from '#study/summary/describe.ts';
import type { RankedModel, SeriesEntry, SeriesSummary } from '#study/summary/summary-schema.ts';
import { type Html, html, none } from './html.ts';
import { headAssets } from './page/assets.ts';
import { type TableCell, table } from './page/table.ts';

/**
 * Returns the models of a series on one page, ranked by throughput, each with a link to its own
 * report.
 */
export function seriesHtml({ models, ranking }: SeriesSummary): string {
  const others = models.filter(({ model }) => !ranking.some((ranked) => ranked.model === model));
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>tritune: ${models.length} models</title>
${headAssets()}
</head>
<body>
<h1>${models.length} models</h1>
${ranking.length === 0 ? none : rankedSection(ranking, models)}
${others.length === 0 ? none : html`<h2>Not ranked</h2><ul>${others.map(unranked)}</ul>`}
</body>
</html>
`.text;
}

function rankedSection(ranking: readonly RankedModel[], models: readonly SeriesEntry[]): Html {
  const rows = ranking.flatMap((ranked) => {
    const entry = models.find(({ model }) => model === ranked.model);
    return entry?.best ? [row(ranked, entry, entry.best)] : [];
  });
  return html`<h2>By throughput within their limits</h2>
${table({ heads: ['rank', 'model', 'throughput', 'of the first', 'at', 'latency', 'best config'], rows })}
<p>Models with the same rank are statistically indistinguishable, at 95 % for all pairs together. They were measured one after another, so
slow periods of the machine affect the figures; <code>tritune compare</code> on repeated runs removes that effect.</p>`;
}

const row = (
  { rank, throughput, ofFirst }: RankedModel,
  entry: SeriesEntry,
  best: NonNullable<SeriesEntry['best']>,
): readonly TableCell[] => [
  String(rank),
  link(entry),
  describeThroughput(throughput),
  ofFirst ? describeShare(ofFirst) : '',
  describeLevel(best.load),
  `p${best.budgetLatencyMs.percentile} ${formatMs(best.budgetLatencyMs.value ?? Number.NaN)}${describeBasis({ measurement: best.measured ?? best, compared: best, feasible: true, chance: null }, null)}`,
  describeAssignment(best.assignment) || 'the original config',
];

function unranked(entry: SeriesEntry): Html {
  if (entry.error) return html`<li>${entry.model}: ${entry.error.code}: ${entry.error.message}</li>`;
  return entry.best
    ? html`<li>${link(entry)}: over its limits</li>`
    : html`<li>${entry.model}: nothing was measured</li>`;
}

const link = ({ model, directory }: SeriesEntry): Html =>
  html`<a href="${encodeURIComponent(directory)}/report.html">${model}</a>`;
