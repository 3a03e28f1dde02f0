import { expect, it } from 'vitest';
import { seriesHtml } from '#report/series-html.ts';
import { rankModels } from '#study/summary/rank-models.ts';
import type { SeriesEntry } from '#study/summary/summary-schema.ts';

it('shows the models of a series by what they serve, with the way to each report, and those without a rank', () => {
  const none = { feasible: null, gain: null, verdict: null, best: null, exitCode: null, error: null };
  const served = (model: string, value: number): SeriesEntry => ({
    ...none,
    model,
    directory: `in ${model}`,
    feasible: true,
    exitCode: 0,
    best: {
      trial: 3,
      assignment: { max_batch_size: 8 },
      load: { mode: 'concurrency', value: 8 },
      config: '',
      throughput: { value, low: value * 0.99, high: value * 1.01 },
      budgetLatencyMs: { percentile: 99, value: 6.25, low: 6, high: 7 },
    },
  });
  const models: SeriesEntry[] = [
    served('slow', 1000),
    served('fast', 2000),
    { ...served('late', 9000), feasible: false },
    { ...none, model: '<b>', directory: 'b', error: { code: 'LOAD_REFUSED', message: 'no <i>' } },
  ];
  const page = seriesHtml({ schemaVersion: 1, models, ranking: rankModels(models) });
  const rows = [...page.matchAll(/<tr><th[^>]*>(\d)<\/th><td[^>]*><a href="([^"]+)">(\w+)<\/a>/g)].map((match) =>
    match.slice(1),
  );
  expect(rows).toEqual([
    ['1', 'in%20fast/report.html', 'fast'],
    ['2', 'in%20slow/report.html', 'slow'],
  ]);
  expect(page).toContain('50 % (95 %: 49 % to 51 %)');
  expect(page).toContain('>late</a>: over its limits');
  expect(page).toContain('&#60;b&#62;: LOAD_REFUSED: no &#60;i&#62;');
});
