import { spawn } from 'node:child_process';
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LaunchedServer } from '#launch/types.ts';
import type { Summary } from '#study/summary/summary-schema.ts';
import { outputOf } from './client-run.ts';

/** A study that has ended, and where its files are. */
export interface TuneRun {
  readonly directory: string;
  /** From the start of the process to its end. */
  readonly seconds: number;
  readonly summary: Summary;
}

/**
 * Lets a build of tritune, by its `dist/cli/main.js`, tune a model of a server that is there. The
 * files are kept: what a study did is asked when its outcome is odd, and another run would not do
 * it again.
 */
export async function tuneRun(
  program: string,
  { grpcUrl, metricsUrl }: LaunchedServer,
  model: string,
  budgetMs: number,
  options: readonly string[] = [],
): Promise<TuneRun> {
  const directory = await mkdtemp(join(tmpdir(), `tritune-bench-${model}-`));
  const where = ['-m', model, '-u', grpcUrl, '--metrics-url', metricsUrl, '-o', directory];
  const startMs = performance.now();
  const args = [program, 'tune', ...where, '--latency-budget', `${budgetMs}`, '--ui', 'lines', ...options];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  // It ends with another code when nothing met the budget; its summary says what came nearest.
  await outputOf(child).catch((error: unknown) => console.log(String(error)));
  const seconds = (performance.now() - startMs) / 1e3;
  const summary = JSON.parse(await readFile(join(directory, 'summary.json'), 'utf8')) as Summary;
  return { directory, seconds, summary };
}
