import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import {
  entryOf,
  SERIES_SUMMARY,
  type SeriesEntry,
  type SeriesSummary,
  writeSeriesSummary,
} from '../report/series-summary.ts';
import { foldStudy } from '../study/fold.ts';
import { readJournal } from '../study/journal.ts';
import { type Summary, summarize } from '../study/summary.ts';
import { exitCodes } from './exit-codes.ts';
import { safeName, studyFiles } from './output-directory.ts';
import { hasBegun, type SeriesFile } from './series-directory.ts';

/** How a model's turn ended. */
export type Ending = Pick<SeriesEntry, 'exitCode' | 'error'>;

/**
 * Writes `summary.json` of a series from the journals of its studies. How a turn ended is not in a journal: it is what
 * `endings` says by model, else what the file said before, else what the study's own summary lets one infer.
 * Errors: JOURNAL_INVALID, OUTPUT_UNWRITABLE.
 */
export async function recordSeries(
  directory: string,
  places: SeriesFile['models'],
  endings: ReadonlyMap<string, Ending> = new Map(),
): Promise<SeriesSummary> {
  const earlier = await endingsIn(directory);
  const entries = await Promise.all(
    places.map(async (place) => {
      const summary = await summaryIn(join(directory, place.directory));
      const ending = endings.get(place.model) ?? earlier.get(place.model) ?? inferred(summary);
      return entryOf({ ...place, modelDirectory: safeName(place.model) }, summary, ending);
    }),
  );
  return writeSeriesSummary(directory, entries);
}

async function summaryIn(directory: string): Promise<Summary | null> {
  if (!(await hasBegun(directory))) return null;
  return summarize(foldStudy(await readJournal(studyFiles(directory).journal)), 'journal.jsonl');
}

function inferred(summary: Summary | null): Ending {
  if (!summary) return { exitCode: null, error: null };
  if (summary.interrupted) return { exitCode: exitCodes.interrupted, error: null };
  return { exitCode: summary.feasible ? exitCodes.done : exitCodes.infeasible, error: null };
}

const written = z.object({
  models: z.array(
    z.object({
      model: z.string(),
      exitCode: z.int().nullable(),
      error: z.object({ code: z.string(), message: z.string() }).nullable(),
    }),
  ),
});

/** Of the turns that have had their end, as the file says; none without a readable file. */
async function endingsIn(directory: string): Promise<ReadonlyMap<string, Ending>> {
  const text = await readFile(join(directory, SERIES_SUMMARY), 'utf8').catch(() => 'null');
  const { data } = written.safeParse(jsonOr(text, null));
  const ended = (data?.models ?? []).filter(({ exitCode }) => exitCode !== null);
  return new Map(ended.map(({ model, exitCode, error }) => [model, { exitCode, error }]));
}

function jsonOr(text: string, otherwise: unknown): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return otherwise;
  }
}
