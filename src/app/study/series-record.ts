import { join } from 'node:path';
import { z } from 'zod';
import { bestConfigPath } from '#adapter/triton/documents.ts';
import { fileLimits, readText } from '#base/read-file.ts';
import { writeSeriesSummary } from '#report/write-series.ts';
import { foldStudy } from '#study/records/fold.ts';
import { readJournal } from '#study/records/journal.ts';
import type { StudyState } from '#study/records/state.ts';
import { isDone, SERIES_SUMMARY, toEntry } from '#study/summary/series-summary.ts';
import { summarize } from '#study/summary/summary.ts';
import type { SeriesEntry, SeriesSummary, Summary } from '#study/summary/summary-schema.ts';
import { toExitCode } from '../exit-codes.ts';
import { safeName, studyFiles } from '../run-directory.ts';
import { hasBegun, type SeriesFile } from './series-directory.ts';

/** How a model's turn ended. */
export type TurnEnding = Pick<SeriesEntry, 'exitCode' | 'error'>;

/**
 * Writes `summary.json` of a series from the journals of its studies. The ending of a turn comes
 * from `endings`; else from the journal, if the study has finished; else from the earlier file,
 * because a journal does not hold every error. Errors: JOURNAL_INVALID, OUTPUT_UNWRITABLE.
 */
export async function recordSeries(
  directory: string,
  places: SeriesFile['models'],
  endings: ReadonlyMap<string, TurnEnding> = new Map(),
): Promise<SeriesSummary> {
  const earlier = await endingsIn(directory);
  const entries = await Promise.all(
    places.map(async (place) => {
      const state = await stateIn(join(directory, place.directory));
      const summary = state && summarize(state, 'journal.jsonl');
      // The model's study may have been continued by itself since the file was written.
      const before = state && isDone(state, false) ? undefined : earlier.get(place.model);
      const ending = endings.get(place.model) ?? before ?? inferred(summary);
      // The best config may belong to another model of the server.
      const { name = place.model } = summary?.best?.config ?? {};
      return toEntry({ ...place, config: bestConfigPath(place.directory, safeName(`${name}`)) }, summary, ending);
    }),
  );
  return writeSeriesSummary(directory, entries);
}

/** Returns null for a study that has not begun. */
const stateIn = async (directory: string): Promise<StudyState | null> =>
  (await hasBegun(directory)) ? foldStudy(await readJournal(studyFiles(directory).journal)) : null;

function inferred(summary: Summary | null): TurnEnding {
  if (!summary) return { exitCode: null, error: null };
  if (summary.interrupted) return { exitCode: toExitCode('interrupted'), error: null };
  return { exitCode: summary.feasible ? toExitCode('done') : toExitCode('infeasible'), error: null };
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

/**
 * Returns the endings of finished studies by model from the file; empty without a readable file.
 */
export async function endingsIn(directory: string): Promise<ReadonlyMap<string, TurnEnding>> {
  const text = await readText(join(directory, SERIES_SUMMARY), fileLimits.results).catch(() => 'null');
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
