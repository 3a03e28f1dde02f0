import { join } from 'node:path';
import { median } from 'simple-statistics';
import type { LaunchedServer } from '#launch/types.ts';
import type { ClientFigures } from '#profiler/client-figures.ts';
import { readJournal } from '#study/records/journal.ts';
import type { StudyRecord } from '#study/records/records.ts';
import type { Summary } from '#study/summary/summary-schema.ts';
import type { Subject } from './truth-subjects.ts';
import { tuneRun } from './tune-run.ts';

/** A build of tritune. */
export interface Program {
  readonly by: string;
  /** Its `dist/cli/main.js`. */
  readonly file: string;
}

/**
 * What the load generator took in the windows of a study; undefined where the build does not say.
 */
interface ClientCost {
  /** Medians over the measurements. */
  readonly cpuUsPerRequest: number | undefined;
  readonly requestsPerSecond: number | undefined;
  /** CPU of the process beside sending, as a share of a core: median and most. */
  readonly beside: { readonly median: number; readonly most: number } | undefined;
}

/** What a build found of a subject. */
export interface Study {
  readonly program: Program;
  readonly seconds: number;
  /** Milliseconds since 1970. */
  readonly endedMs: number;
  readonly summary: Summary;
  readonly cost: ClientCost;
}

/** Runs a study on a server that is there. */
export async function study(program: Program, server: LaunchedServer, { model, budgetMs }: Subject): Promise<Study> {
  const { directory, seconds, summary } = await tuneRun(program.file, server, model, budgetMs);
  const cost = costOf(await readJournal(join(directory, 'journal.jsonl')));
  console.log(`${program.by}: ${model}, p99 within ${budgetMs} ms: ${seconds.toFixed(0)} s, ${directory}`);
  return { program, seconds, endedMs: Date.now(), summary, cost };
}

function costOf(records: readonly StudyRecord[]): ClientCost {
  const measured = records.flatMap((record) =>
    record.type === 'trial-measured' || record.type === 'final-measured' ? [record.measurement] : [],
  );
  const clients: readonly (ClientFigures & { readonly besideCpuShare?: number })[] = measured.map(
    ({ client }) => client,
  );
  const beside = clients.flatMap(({ besideCpuShare }) => besideCpuShare ?? []);
  const typical = (values: readonly number[]): number | undefined =>
    values.length === 0 ? undefined : median([...values]);
  return {
    cpuUsPerRequest: typical(clients.map(({ cpuUsPerRequest }) => cpuUsPerRequest)),
    requestsPerSecond: typical(measured.map(({ sendRate }) => sendRate)),
    beside: beside.length === 0 ? undefined : { median: median(beside), most: Math.max(...beside) },
  };
}
