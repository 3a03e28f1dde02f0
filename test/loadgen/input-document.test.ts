import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { requestsOfJson, type TestModel } from './input-files.ts';

const model: TestModel = {
  inputs: { image: ['FP32', [-1, 2]], label: ['BYTES', [1]] },
  outputs: { score: ['FP32', [1]] },
};

it('reads the examples of the document', async () => {
  const text = await readFile(resolve(import.meta.dirname, '../../docs/input-data.md'), 'utf8');
  const [steps, streams] = [...text.matchAll(/```json\n(.*?)```/gs)].map((match) => match[1] as string);
  const one = await requestsOfJson(model, steps);
  expect(one.requests.map(({ inputs }) => inputs.map(({ shape }) => shape))).toEqual(Array(3).fill([[2, 2], [1]]));
  const labels = one.requests.map(({ inputs }) => Buffer.from(inputs[1]?.raw.subarray(4) ?? []).toString());
  expect(labels).toEqual(['a cat', 'a cat', 'a dog']);
  expect(one.requests[1]?.inputs[0]).toEqual(one.requests[0]?.inputs[0]);
  const two = await requestsOfJson(model, streams);
  expect(two.streamLengths).toEqual([1, 1]);
  expect(two.requests.map(({ expected }) => expected?.flat().map(({ name }) => name))).toEqual([['score'], undefined]);
});
