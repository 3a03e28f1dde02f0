import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StudyRecord } from '#study/records/records.ts';
import type { Summary } from '#study/summary/summary-schema.ts';
import type { TrialFailure } from '#study/types.ts';
import { recordIn } from './write-journal.ts';

export const freshDirectory = (): Promise<string> => mkdtemp(join(tmpdir(), 'tritune-test-'));

export async function summaryOf(directory: string): Promise<Summary> {
  return JSON.parse(await readFile(join(directory, 'summary.json'), 'utf8')) as Summary;
}

export async function recordsOf(directory: string): Promise<StudyRecord[]> {
  const text = await readFile(join(directory, 'journal.jsonl'), 'utf8').catch(() => '');
  const lines = text.split('\n').filter((line) => line.endsWith('}'));
  return lines.map(recordIn);
}

/**
 * Why trials failed; but not that a machine with other tests on it had too little of a CPU for the
 * load generator: that is true of it.
 */
export async function failuresIn(directory: string): Promise<TrialFailure[]> {
  const finished = (await recordsOf(directory)).filter((record) => record.type === 'trial-finished');
  return finished.flatMap(({ failure }) => failure ?? []).filter(({ kind }) => kind !== 'client-bound');
}
