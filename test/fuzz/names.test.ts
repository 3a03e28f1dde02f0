import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, posix, relative, resolve, sep, win32 } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bestConfigPath } from '#adapter/triton/documents.ts';
import { prepareOutput, safeName, studyFiles } from '#app/run-directory.ts';
import { exportConfig, writeDocuments } from '#app/run-documents.ts';
import { directoriesFor } from '#app/study/series-directory.ts';
import { encodeInferCall } from '#loadgen/transports/infer-http.ts';
import { createJournal } from '#study/records/journal.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { parseConfigText } from '#triton/config/parser.ts';
import { configOf, goalOf, measured, studyStarted, toCandidate, trialOf } from '../study/builders.ts';
import { FUZZ_TIMEOUT_MS, fuzz, hostileNames } from '../support/fuzz.ts';

const part = fc.oneof(
  fc.constantFrom(...hostileNames, '/', '\\', ':', '*', '?', '..', '.', 'con', 'LPT1', 'aux.pbtxt', ' ', 'a'),
  fc.string({ unit: 'binary', maxLength: 6 }),
);
const anyName = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(''));
const deviceName = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

describe('a name from elsewhere', () => {
  it('becomes one segment of a path, which stays what it is, on every system', { timeout: FUZZ_TIMEOUT_MS }, () => {
    fuzz(anyName, (name) => {
      const segment = safeName(name);
      expect(segment).toMatch(/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$/);
      expect(segment).not.toMatch(/\.$/);
      expect(segment).not.toMatch(deviceName);
      expect(safeName(segment)).toBe(segment);
      for (const { join: joined, dirname } of [posix, win32]) expect(dirname(joined('out', segment))).toBe('out');
      expect(bestConfigPath('out', segment)).toBe(join('out', 'best', segment, 'config.pbtxt'));
    });
  });

  it('that is harmless stays as it is', () => {
    for (const name of ['mlp', 'yolov7-tiny_fp16', 'a.b', 'Console', 'com10x', '-x']) expect(safeName(name)).toBe(name);
  });

  it('has a directory that no other has', { timeout: FUZZ_TIMEOUT_MS }, () => {
    fuzz(fc.uniqueArray(anyName, { maxLength: 6 }), (names) => {
      const directories = directoriesFor(names).map(({ directory }) => directory);
      expect(new Set(directories.map((directory) => directory.toLowerCase())).size).toBe(names.length);
      for (const directory of directories) expect(safeName(directory)).toBe(directory);
    });
  });

  it('is one segment of the path of a request', { timeout: FUZZ_TIMEOUT_MS }, () => {
    fuzz(anyName, (model) => {
      const { path } = encodeInferCall({ model, version: model, batch: 1, inputs: [] }, {});
      expect(path).toMatch(/^\/v2\/models\/[^/\s]*(\/versions\/[^/\s]+)?\/infer$/);
    });
  });
});

const at = '2026-01-01T00:00:01.000Z';
const served = (model: string, instances = 1) => toCandidate({ ...configOf(instances, 4), name: model });
const recordsOf = (model: string): readonly StudyRecord[] => [
  studyStarted(goalOf(8), { model }),
  { type: 'trial-started', at, trial: 0, role: 'baseline', candidate: served(model) },
  { type: 'trial-measured', at, trial: 0, measurement: measured(1, 100, 5) },
  { type: 'trial-finished', at, trial: 0, chosen: 0, feasible: true, failure: null },
  { type: 'trial-started', at, trial: 1, role: 'search', candidate: served(model, 2) },
  { type: 'trial-measured', at, trial: 1, measurement: measured(1, 300, 5) },
  { type: 'trial-finished', at, trial: 1, chosen: 0, feasible: true, failure: null },
];

describe('a study of a model of any name', () => {
  it.each(hostileNames.filter((name) => name.isWellFormed()))('%j writes into its own directory', async (model) => {
    const above = await mkdtemp(join(tmpdir(), 'tritune-fuzz-'));
    const directory = await prepareOutput(join(above, 'out'), model, 0);
    const journal = await createJournal(studyFiles(directory).journal);
    for (const record of recordsOf(model)) await journal.append(record);
    await journal.close();
    const { files } = await writeDocuments(directory);
    const exported = await exportConfig(directory, model, trialOf(3, { ...configOf(1, 4), name: model }));
    for (const path of [...Object.values(files), exported]) {
      expect(relative(directory, resolve(path as string)).split(sep)[0]).not.toBe('..');
    }
    expect(await readdir(above)).toEqual(['out']);
    const best = await readdir(join(directory, 'best'));
    expect(best).toEqual([safeName(model)]);
    expect(parseConfigText(await readFile(files.config as string, 'utf8'), 'best').config.name ?? '').toBe(model);
  });
});
