import { appendFile, readFile } from 'node:fs/promises';
import type { processes } from './fleet.ts';
import type { Aim, Phase } from './moments.ts';
import type { Kind } from './subjects.ts';

/** What must not happen, and anything else that is not as it should be. */
export const harms = ['lost', 'unrestored', 'taken for the original', 'other'] as const;
export type Harm = (typeof harms)[number];

/** One kill, as the file of results has it in a line. */
export interface Result {
  readonly kind: Kind | 'fleet';
  readonly seed: number;
  /** The study of that kind and seed; a study is killed several times. */
  readonly study: number;
  readonly aim: Aim | null;
  /** What was under way; for fleets, what was killed. */
  readonly phase: Phase | (typeof processes)[number];
  readonly faults: readonly { readonly harm: Harm; readonly what: string }[];
}

/** Returns the results of earlier calls. */
export async function readResults(path: string): Promise<Result[]> {
  const text = await readFile(path, 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Result]));
}

/** Adds results to the file. */
export const addResults = (path: string, results: readonly Result[]): Promise<void> =>
  appendFile(path, results.map((result) => `${JSON.stringify(result)}\n`).join(''));

/**
 * Returns a table in Markdown: a row for each kind, with where the kills fell and what they did.
 */
export function tableOf(results: readonly Result[], phases: readonly string[]): string {
  const seen = phases.filter((phase) => results.some((result) => result.phase === phase));
  const kinds = [...new Set(results.map(({ kind }) => kind))];
  const cells = (those: readonly Result[]): readonly number[] => [
    those.length,
    ...seen.map((phase) => those.filter((result) => result.phase === phase).length),
    ...harms.map((harm) => those.filter(({ faults }) => faults.some((fault) => fault.harm === harm)).length),
  ];
  const row = (name: string, those: readonly Result[]): string => `| ${[name, ...cells(those)].join(' | ')} |`;
  const heads = ['kind', 'kills', ...seen, ...harms];
  return [
    `| ${heads.join(' | ')} |`,
    `|${'---|'.repeat(heads.length)}`,
    ...kinds.map((kind) =>
      row(
        kind,
        results.filter((result) => result.kind === kind),
      ),
    ),
    row('all', results),
  ].join('\n');
}
