import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { messageOf, TrituneError } from '../base/errors.ts';
import type { StudyState } from '../study/state.ts';
import { type Summary, summarize } from '../study/summary.ts';
import { printConfigText } from '../triton/config-printer.ts';
import type { ModelConfig } from '../triton/model-config.ts';
import { analyzerTables } from './model-analyzer-csv.ts';
import { reportHtml } from './report-html.ts';
import { paretoCsv, resultsCsv } from './results-csv.ts';

export interface WrittenRun {
  readonly summary: Summary;
  /** Paths of what was written; `config` is null when no trial could be measured. */
  readonly files: {
    readonly summary: string;
    readonly results: string;
    readonly pareto: string;
    /** The directory of Model Analyzer's tables. */
    readonly metrics: string;
    readonly report: string;
    readonly config: string | null;
  };
}

/**
 * Writes the study's documents into its directory, each whole or not at all: summary.json, results.csv, pareto.csv,
 * report.html, best/MODEL/config.pbtxt, and results/ with the tables of Model Analyzer. `modelDirectory` is the model's name as one safe path segment. Errors: OUTPUT_UNWRITABLE.
 */
export async function writeRun(state: StudyState, directory: string, modelDirectory: string): Promise<WrittenRun> {
  const summary = summarize(state, 'journal.jsonl');
  const config = summary.best ? emittedConfig(summary.best.config, state.started.model) : null;
  const files = {
    summary: join(directory, 'summary.json'),
    results: join(directory, 'results.csv'),
    pareto: join(directory, 'pareto.csv'),
    metrics: join(directory, 'results'),
    report: join(directory, 'report.html'),
    config: config === null ? null : bestConfigPath(directory, modelDirectory),
  };
  await writeWhole(files.summary, `${JSON.stringify(summary, null, 2)}\n`);
  await writeWhole(files.results, resultsCsv(state));
  await writeWhole(files.pareto, paretoCsv(state.front));
  for (const { name, text } of analyzerTables(state)) await writeWhole(join(files.metrics, name), text);
  await writeWhole(files.report, reportHtml(state, summary, config));
  if (files.config !== null && config !== null) await writeWhole(files.config, config);
  return { summary, files };
}

/** Where a study's directory has the best config; `modelDirectory` as for `writeRun`. */
export const bestConfigPath = (directory: string, modelDirectory: string): string =>
  join(directory, 'best', modelDirectory, 'config.pbtxt');

/** Writes a config as `best/MODEL/config.pbtxt` is written. Errors: OUTPUT_UNWRITABLE. */
export const writeConfig = (path: string, config: ModelConfig, model: string): Promise<void> =>
  writeWhole(path, emittedConfig(config, model));

/** As a repository wants it: with the model's name, and without the instance names that the server makes up. */
function emittedConfig(config: ModelConfig, model: string): string {
  const groups = config.instance_group?.map(({ name: _, ...group }) => group);
  return printConfigText({ ...config, name: model, ...(groups && { instance_group: groups }) });
}

/** Writes a file and the directories above it; nobody ever sees half of it. Errors: OUTPUT_UNWRITABLE. */
export async function writeWhole(path: string, content: string | Uint8Array): Promise<void> {
  const part = `${path}.part`;
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(part, content);
    await rename(part, path);
  } catch (error) {
    throw new TrituneError(
      'OUTPUT_UNWRITABLE',
      `cannot write ${path}: ${messageOf(error)}`,
      'free some space or choose another --output',
      {
        cause: error,
      },
    );
  }
}
