import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { goalOf, studyStarted } from '../study/builders.ts';
import { freshDirectory } from '../support/run-directory.ts';
import { writeJournal } from '../support/write-journal.ts';
import { sitDown } from './pseudo-terminal.ts';

/** A killed run of somebody else, on a server where nothing listens. */
async function foreignRun(): Promise<string> {
  const directory = await freshDirectory();
  const server = { ...studyStarted(goalOf(8)).server, url: '127.0.0.1:1', controlUrl: '127.0.0.1:1' };
  await writeJournal(join(directory, 'journal.jsonl'), [studyStarted(goalOf(8), { server })], randomBytes(32));
  return directory;
}

it.each([
  ['no', 'n\r', 2, 'RUN_UNTRUSTED'],
  ['nothing', '\r', 2, 'RUN_UNTRUSTED'],
  ['Ctrl-C', '\u0003', 2, 'RUN_UNTRUSTED'],
  ['the end of the input', '\u0004', 2, 'RUN_UNTRUSTED'],
  ['yes', 'y\r', 4, 'SERVER_UNREACHABLE'],
])(
  'a person at a terminal is asked whether to trust a run of somebody else, and says %s',
  async (_, keys, code, error) => {
    const directory = await foreignRun();
    const sitting = sitDown(['restore', directory], { columns: 200 });
    onTestFinished(() => sitting.leave());
    expect(await sitting.until(/trust it, and go on\? \[y\/N\]/)).toContain('contacts 127.0.0.1:1');
    sitting.press(keys);
    expect(await sitting.ended).toBe(code);
    expect(sitting.written()).toContain(error);
    expect(readFileSync(join(directory, 'journal.jsonl'), 'utf8').split('\n')).toHaveLength(2);
  },
);
