import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readCandidates } from '../../src/cli/read-candidates.ts';
import { smallSpace } from '../study/sampler-suite.ts';
import { freshDirectory } from '../support/cli.ts';

const fileWith = async (text: string): Promise<string> => {
  const file = join(await freshDirectory(), 'candidates.yaml');
  await writeFile(file, text);
  return file;
};

describe('a list of candidates', () => {
  it.each([
    ['JSON', '[{"delay": 0, "batch": 4, "count": 2}, {"delay": 100, "batch": 4, "count": 1}]'],
    ['YAML', '- { delay: 0, batch: 4, count: 2 }\n- delay: 100\n  batch: 4\n  count: 1\n'],
  ])('is read in its order from %s', async (_, text) => {
    expect(readCandidates(await fileWith(text), smallSpace)).toEqual([
      { delay: 0, batch: 4, count: 2 },
      { delay: 100, batch: 4, count: 1 },
    ]);
  });

  it.each([
    ['no list', 'batch: 4', /candidates/],
    ['an empty list', '[]', /candidates/],
    [
      'an assignment that the space does not allow',
      '[{"delay": 100, "batch": 8, "count": 1}]',
      /no delay with batches of 8/,
    ],
    ['no YAML', '[{', /candidates/],
  ])('says what is wrong with %s', async (_, text, words) => {
    const file = await fileWith(text);
    expect(() => readCandidates(file, smallSpace)).toThrow(words);
  });

  it('is asked for by name, and missed when it is not there', () => {
    expect(() => readCandidates(undefined, smallSpace)).toThrow(/manual/);
    expect(() => readCandidates('/nowhere/list.yaml', smallSpace)).toThrow(/nowhere/);
  });
});
