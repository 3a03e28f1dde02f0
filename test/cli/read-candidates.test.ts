import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readCandidates } from '#app/study/read-candidates.ts';
import { toOriginal } from '#space/model-configs.ts';
import { loadSpace } from '#space/source/load.ts';
import { viewSpace } from '#study/search/samplers/space-view.ts';
import { smallSpace } from '../study/sampler-suite.ts';
import { freshDirectory } from '../support/run-directory.ts';

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

  it('may say on and off, as a space does', async () => {
    const space = loadSpace('onnxruntime');
    const config = { name: 'm', backend: 'onnxruntime', max_batch_size: 8 };
    const file = await fileWith('- { dynamic_batching: on, max_batch_size: 4 }\n- { instances: 2 }\n');
    const view = viewSpace(space, toOriginal(config));
    expect(readCandidates(file, view)).toEqual([{ dynamic_batching: true, max_batch_size: 4 }, { instances: 2 }]);
    const wrong = await fileWith('- { dynamic_batching: onn, max_batch_size: 4 }\n');
    expect(() => readCandidates(wrong, view)).toThrow(/"onn" is not one of the values of dynamic_batching: /);
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
