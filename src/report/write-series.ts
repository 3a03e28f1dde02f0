import { writeIn } from '#base/run-files.ts';
import { rankModels } from '#study/summary/rank-models.ts';
import { SERIES_REPORT, SERIES_SUMMARY } from '#study/summary/series-summary.ts';
import type { SeriesEntry, SeriesSummary } from '#study/summary/summary-schema.ts';
import { seriesHtml } from './series-html.ts';

/** Writes the summary of a series, and its page. Returns the summary. Errors: OUTPUT_UNWRITABLE. */
export async function writeSeriesSummary(directory: string, models: readonly SeriesEntry[]): Promise<SeriesSummary> {
  const summary: SeriesSummary = { schemaVersion: 1, models, ranking: rankModels(models) };
  await writeIn(directory, [SERIES_SUMMARY], `${JSON.stringify(summary, null, 2)}\n`);
  await writeIn(directory, [SERIES_REPORT], seriesHtml(summary));
  return summary;
}
