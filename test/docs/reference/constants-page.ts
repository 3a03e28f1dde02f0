import { readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { sourcesIn } from '../../support/import-graph.ts';
import { printPage, printTable } from './markdown.ts';
import { code } from './type-words.ts';

const src = resolve(import.meta.dirname, '../../../src');
const folders = ['capacity', 'perfmodel', 'study/search/queueing'];

/** A named number of the code, with the comment above it, if it has one of its own. */
const CONSTANT =
  /(?:\/\*\*\n?((?:[^*]|\*(?!\/))*)\*\/\n)?^(?:export )?const ([A-Z][A-Z0-9_]*)(?:: [^=\n]+)? = (.*\d.*|\{)$/gm;

/**
 * Returns the page of the constants of the default sampler and of the capacity search, as Markdown.
 */
export function constantsPage(): string {
  const files = folders.flatMap((folder) => sourcesIn(join(src, folder)).sort());
  return printPage('Constants', [
    'The numbers of the default sampler, of its performance model and of the capacity search. Only `CALIBRATION` is fitted (to proposals, [judged on others](../benchmarks/search.md)). Each other constant was set by hand and kept if the search did no worse with it, on these problems:',
    [
      '- made-up models 0 to 39 (one constant: 40 to 79), and the recorded grids of the network, the sleeping model and the images;',
      '- made-up pipelines 0 to 7, for `perfmodel/network`, `joint-candidates.ts` and `local-search.ts`;',
      '- made-up engines 0 to 7, for `perfmodel/continuous`;',
      '- fourteen simulated queues, for `capacity`: one to eight servers, single requests and batches, services with a cv of 0 to 2; for workloads, three queues under four workloads each, at p90 and p99.',
    ].join('\n'),
    '[What each part is worth](../benchmarks/ablation.md) has the effect of each group.',
    ...files.flatMap((file) => {
      const rows = listConstants(file);
      return rows.length > 0 ? [`## ${relative(src, file)}`, printTable(['constant', 'value', 'meaning'], rows)] : [];
    }),
  ]);
}

/** Rows of a file; a constant without a comment belongs to the comment of the one above. */
function listConstants(file: string): string[][] {
  const text = readFileSync(file, 'utf8');
  return [...text.matchAll(CONSTANT)].map(([, comment = '', name = '', value = '']) => [
    code(name),
    value === '{' ? 'several' : code(value.replace(/( as const)?;$/, '')),
    firstSentence(comment),
  ]);
}

function firstSentence(comment: string): string {
  const text = comment
    .replace(/^\s*\*/gm, '')
    .replace(/\s+/g, ' ')
    .trim();
  return /^.*?\.(?= |$)/.exec(text)?.[0].slice(0, -1) ?? text.replace(/[.:]$/, '');
}
