import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { loadProfile } from '#emulator/profile/profiles.ts';
import { toModelConfig } from '#space/model-configs.ts';
import { foldStudy } from '#study/records/fold.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { callCli } from '../support/call-cli.ts';
import { startCli } from '../support/cli.ts';
import { smallProfile } from '../support/emulator.ts';
import { freshDirectory, recordsOf, summaryOf } from '../support/run-directory.ts';
import { tuneVirtually } from '../support/virtual-study.ts';
import { writeJournal } from '../support/write-journal.ts';

const files = await freshDirectory();
const [run, space] = [join(files, 'run'), join(files, 'space.yaml')];

const tune = (output: string, ...more: string[]) =>
  callCli(['tune', '-m', 'm', '--space', space, '--concurrency', '8:8', '--precision', '50', '-o', output, ...more]);

/** A run, in virtual time, against a server whose model gains much by batching. */
beforeAll(async () => {
  const profile = smallProfile({ a: 10, b: 0.5, config: { max_batch_size: 1 } });
  const { records } = await tuneVirtually(profile, { max_batch_size: [2, 8], dynamic_batching: ['on'] }, 1000);
  await mkdir(run);
  await writeJournal(join(run, 'journal.jsonl'), records);
});

it('is tuned like the server of the run, to the same best config', { timeout: 180_000 }, async () => {
  await writeFile(space, 'name: batches\nparameters:\n  max_batch_size: [8]\n  dynamic_batching: [on]\n');
  const output = join(files, 'dry');
  const outcome = await tune(output, '--sampler', 'grid', '--launch', `twin:${run}`);
  expect(outcome).toMatchObject({ code: 0, stderr: '' });
  const [real, dry] = [foldStudy(await recordsOf(run)), await summaryOf(output)];
  expect(dry.emulated).toBe('twin-of-m');
  expect(dry.best?.assignment).toEqual(real.best?.candidate.assignment);
  expect(dry.gain?.ratio).toBeGreaterThan(1);
});

it('serves the original config under the name of the model, and is kept as a profile', async () => {
  const file = join(files, 'twin.yaml');
  const ports = ['grpc', 'http', 'metrics'].map((name) => `--${name}-port=0`);
  const served = startCli(['emulate', '--from', run, '--write-profile', file, ...ports]);
  onTestFinished(() => void served.child.kill('SIGKILL'));
  let said = '';
  const line = await new Promise<string>((resolve, reject) => {
    served.child.stdout?.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes('\n')) resolve(said);
    });
    served.child.on('close', () => reject(new Error(said)));
  });
  const client = connectGrpc(/grpc (\S+),/.exec(line)?.[1] as string);
  const [started] = await recordsOf(run);
  const original = started?.type === 'study-started' ? toModelConfig(started.original) : {};
  expect(await client.modelConfig('m')).toMatchObject(original);
  await client.close();
  served.child.kill('SIGTERM');
  expect(await served.ended).toMatchObject({ code: 0, stderr: '' });
  const [model] = loadProfile(file).models;
  const timeOf = (size: number): number => model?.law.execution_ms.find(([batch]) => batch === size)?.[1] ?? Number.NaN;
  expect(timeOf(8) / timeOf(2)).toBeGreaterThan(1);
  expect(timeOf(8) / timeOf(2)).toBeLessThan(2);
});

it.each([
  [['--from', join(files, 'nowhere')], 2, /JOURNAL_INVALID/],
  [['--from', run, '--profile', 'demo'], 2, /USAGE: --profile and --from/],
  [['--write-profile', join(files, 'none.yaml')], 2, /USAGE: --write-profile needs a run/],
])('emulate %j ends with %i', async (options, code, words) => {
  const outcome = await callCli(['emulate', ...options]);
  expect(outcome).toMatchObject({ code, stderr: expect.stringMatching(words) });
});

it('is refused with its reason when the run measured nothing', async () => {
  const empty = await freshDirectory();
  const [started] = await recordsOf(run);
  await writeJournal(join(empty, 'journal.jsonl'), started ? [started] : []);
  expect(await callCli(['emulate', '--from', empty])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/UNSUPPORTED: this study cannot be emulated: it has no measurements/),
  });
  const outcome = await tune(join(files, 'other'), '--launch', `twin:${empty}`);
  expect(outcome).toMatchObject({ code: 4, stderr: expect.stringMatching(/LAUNCH_FAILED.*it has no measurements/) });
  await rm(empty, { recursive: true });
});
