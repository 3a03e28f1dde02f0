import { join } from 'node:path';
import { SERIES_SUMMARY, type SeriesEntry, type SeriesSummary } from '../study/summary/series-summary.ts';
import { writeWhole } from './write-run.ts';

/** Writes the summary of a series whole or not at all; gives what is in it. Errors: OUTPUT_UNWRITABLE. */
export async function writeSeriesSummary(directory: string, models: readonly SeriesEntry[]): Promise<SeriesSummary> {
  const summary: SeriesSummary = { schemaVersion: 1, models };
  await writeWhole(join(directory, SERIES_SUMMARY), `${JSON.stringify(summary, null, 2)}\n`);
  return summary;
}
