import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { writeEmitted } from '../../src/report/write-run.ts';

it('copies files beside the config, keeps them when the source goes, and says which are missing', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tritune-emitted-'));
  const source = join(folder, 'model.onnx');
  await writeFile(source, 'weights');
  const documents = [
    { path: 'm/config.pbtxt', text: 'name: "m"' },
    { path: 'm/1/model.onnx', source },
  ];
  const best = join(folder, 'best');
  expect(await writeEmitted(best, documents)).toBe(join(best, 'm/config.pbtxt'));
  await rm(source);
  await writeEmitted(best, documents);
  expect(await readFile(join(best, 'm/1/model.onnx'), 'utf8')).toBe('weights');
  await writeEmitted(join(folder, 'other'), documents);
  const note = await readFile(join(folder, 'other/m/missing-files.txt'), 'utf8');
  expect(note).toBe(`m/1/model.onnx is ${source}, which is not there\n`);
});
