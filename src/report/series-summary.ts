import { join } from 'node:path';
import type { Summary, SummaryPoint } from '../study/summary.ts';
import { bestConfigPath, writeWhole } from './write-run.ts';

/** What came of one model of a series. */
export interface SeriesEntry {
  readonly model: string;
  /** Of the model's own documents, beside this file. */
  readonly directory: string;
  /** null while nothing was measured. */
  readonly feasible: boolean | null;
  readonly gain: Summary['gain'];
  /** In short; `config` is the path of its config.pbtxt from here. */
  readonly best:
    | (Pick<SummaryPoint, 'trial' | 'assignment' | 'load' | 'throughput' | 'budgetLatencyMs'> & {
        readonly config: string;
      })
    | null;
  /** As if the model had been tuned alone; null while its turn has not come. */
  readonly exitCode: number | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** The object of a series' `summary.json`. */
export interface SeriesSummary {
  readonly schemaVersion: 1;
  readonly models: readonly SeriesEntry[];
}

export const SERIES_SUMMARY = 'summary.json';

/** Where a model's study lies in the series, and the model's name as one safe path segment. */
export interface SeriesPlace extends Pick<SeriesEntry, 'model' | 'directory'> {
  readonly modelDirectory: string;
}

/** What came of a model: the short form of its own summary, which is null for a study that has not begun, and how its turn ended. */
export function entryOf(
  { model, directory, modelDirectory }: SeriesPlace,
  summary: Summary | null,
  ending: Pick<SeriesEntry, 'exitCode' | 'error'>,
): SeriesEntry {
  const best = summary?.best ?? null;
  return {
    model,
    directory,
    feasible: summary && best ? summary.feasible : null,
    gain: summary?.gain ?? null,
    best: best && {
      trial: best.trial,
      assignment: best.assignment,
      load: best.load,
      throughput: best.throughput,
      budgetLatencyMs: best.budgetLatencyMs,
      config: bestConfigPath(directory, modelDirectory),
    },
    ...ending,
  };
}

/** Writes `summary.json` of a series whole or not at all; gives what is in it. Errors: OUTPUT_UNWRITABLE. */
export async function writeSeriesSummary(directory: string, models: readonly SeriesEntry[]): Promise<SeriesSummary> {
  const summary: SeriesSummary = { schemaVersion: 1, models };
  await writeWhole(join(directory, SERIES_SUMMARY), `${JSON.stringify(summary, null, 2)}\n`);
  return summary;
}
