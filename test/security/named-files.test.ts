import { execFileSync } from 'node:child_process';
import { mkdir, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readHeaders } from '#app/server/headers.ts';
import { readTls } from '#app/server/read-tls.ts';
import { readPrices } from '#app/study/cost-terms.ts';
import { readSpec } from '#app/study/read-spec.ts';
import { readTraceFiles } from '#app/study/read-traces.ts';
import { recordedWorkload } from '#app/workload-from-log.ts';
import { readAnalyzerFile } from '#cli/model-analyzer/read-file.ts';
import { loadProfile } from '#emulator/profile/profiles.ts';
import { readArrivals, readTimestamps } from '#loadgen/arrival-files.ts';
import { readStreams } from '#loadgen/input-data/read-streams.ts';
import { readPromptFile } from '#loadgen/prompts/prompt-file.ts';
import { estimate, openTokenizer } from '#loadgen/prompts/tokenizer.ts';
import { readStatedSpaces } from '#space/joint/given-spaces.ts';
import { loadSpace } from '#space/source/load.ts';
import { readJournal, resumeJournal } from '#study/records/journal.ts';
import { readWorkload } from '#workload/read-workload.ts';
import { readGridFile } from '../../lab/recording/recording.ts';
import { freshDirectory } from '../support/run-directory.ts';

const folder = await freshDirectory();
const pipe = join(folder, 'pipe');
execFileSync('mkfifo', [pipe]);
const sparse = join(folder, 'sparse');
await writeFile(sparse, '');
await truncate(sparse, 2 ** 43);

const extending = async (name: string, file: string): Promise<string> => {
  await writeFile(join(folder, name), JSON.stringify({ extends: file }));
  return join(folder, name);
};
const tensors = { inputs: [{ name: 'A', datatype: 'FP32', shape: [1], isOptional: false }], outputs: [] } as never;

/** Every file that a person, or another file, names. */
const readers: Readonly<Record<string, (path: string) => unknown>> = {
  spec: readSpec,
  space: (path) => loadSpace(path),
  'space with members': (path) => readStatedSpaces(path),
  'extended space': async (path) => loadSpace(await extending('extending.yaml', path)),
  prices: readPrices,
  workload: readWorkload,
  journal: (path) => readJournal(path),
  'journal to resume': (path) => resumeJournal(path),
  certificate: (path) => readTls({ tlsCa: path }),
  token: (path) => readHeaders({ tokenFile: path } as never),
  headers: (path) => readHeaders({ headerFile: [path] } as never),
  traces: (path) => readTraceFiles([path]),
  'log of requests': (path) => recordedWorkload([path], {} as never),
  'result grid': readGridFile,
  'file of Model Analyzer': readAnalyzerFile,
  'emulator profile': loadProfile,
  'input data': (path) => readStreams([path], tensors, {}),
  arrivals: readArrivals,
  timestamps: readTimestamps,
  prompts: (path) => readPromptFile(path, {} as never, estimate),
  tokenizer: openTokenizer,
};

const refusal = async (read: (path: string) => unknown, path: string): Promise<unknown> => {
  try {
    return await read(path);
  } catch (error) {
    return error;
  }
};
const coded = { code: expect.stringMatching(/^(?:SPACE|INPUT|JOURNAL|PROFILE)_INVALID$/) };

describe.each(Object.entries(readers))('the file of a user: %s', (_, read) => {
  it.each([
    ['a pipe', pipe],
    ['a device', '/dev/zero'],
  ])('is refused where it is %s', async (kind, path) => {
    const message = expect.stringMatching(new RegExp(`it is ${kind}|lies outside of`));
    expect(await refusal(read, path)).toMatchObject({ ...coded, message });
  });

  it('is refused where it is 8 TiB long', async () => {
    expect(await refusal(read, sparse)).toMatchObject(coded);
  });
});

describe('a space', () => {
  it('extends only files of its folder', async () => {
    await mkdir(join(folder, 'inner'));
    await writeFile(join(folder, 'secret.yaml'), 'password: x\n');
    for (const named of ['../secret.yaml', join(folder, 'secret.yaml'), '/etc/hostname']) {
      const outside = await extending('inner/space.yaml', named);
      expect(() => loadSpace(outside)).toThrow('lies outside of');
      await writeFile(outside, JSON.stringify({ members: { a: named } }));
      expect(() => readStatedSpaces(outside)).toThrow('lies outside of');
    }
  });
});
