import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { holdModels } from '#adapter/triton/hold-model.ts';
import type { Faults } from '#emulator/faults.ts';
import { emulatorSchema } from '#emulator/profile/schema.ts';
import { compareConfigs } from '#triton/config/comparison.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import type { TritonClient } from '#triton/types.ts';
import { isOnServer, lastLineOf, runHere, untilOnServer } from '../faults/own-stage.ts';
import { startCli, untilRecorded } from '../support/cli.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';
import { freshDirectory, recordsOf, summaryOf } from '../support/run-directory.ts';

const OTHER_TENSOR = [{ name: 'IN', data_type: 'TYPE_INT32', dims: [4] }];

/**
 * A server with `slow`, `fast`, which is not loaded, and `other`, which takes other inputs; and a
 * space that has each as a variant.
 */
async function stageOf({
  faults = {},
  variants = '{ slow: {}, fast: { model: fast, config: { max_batch_size: 4 } } }',
  candidates = [{ variant: 'fast', instances: 2 }],
}: {
  readonly faults?: Faults;
  readonly variants?: string;
  readonly candidates?: readonly object[];
} = {}) {
  const [model] = smallProfile().models;
  const named = (name: string, ms: number, config: object = {}) => ({
    ...model,
    config: { ...model?.config, name, ...config },
    law: {
      execution_ms: [
        [1, ms],
        [8, 1.2 * ms],
      ],
    },
  });
  const models = [named('slow', 12), named('fast', 2), named('other', 2, { input: OTHER_TENSOR })];
  const emulator = await emulatorForTest({ profile: emulatorSchema.parse({ ...smallProfile(), models }), faults });
  const client = connectGrpc(emulator.grpcUrl);
  await client.unload('fast');
  const directory = await freshDirectory();
  const space = join(directory, 'space.yaml');
  await writeFile(space, `variants: ${variants}\nparameters: { instances: [1, 2] }\n`);
  const list = join(directory, 'candidates.json');
  await writeFile(list, JSON.stringify(candidates));
  const output = join(directory, 'run');
  const args = [
    ...['tune', '-m', 'slow', '-u', emulator.grpcUrl, '--space', space, '-o', output],
    ...['--sampler', 'manual', '--candidates', list],
    ...['--concurrency', '2:2', '--precision', '30'],
  ];
  const before = await client.modelConfig('slow');
  return { client, output, args, url: emulator.grpcUrl, isAsBefore: () => isAsBefore(client, before) };
}

async function isAsBefore(client: TritonClient, before: ModelConfig): Promise<boolean> {
  const states = new Map((await client.index()).map(({ name, state }) => [name, state]));
  const isOriginal = compareConfigs(before, await client.modelConfig('slow')).length === 0;
  return (
    isOriginal && states.get('slow') === 'READY' && states.get('fast') !== 'READY' && states.get('other') === 'READY'
  );
}

describe('variants that are other models of the server', { timeout: 180_000 }, () => {
  it('are put back after a kill by `tritune restore`; the resumed study emits the best under its name, and leaves every model as it began', async () => {
    const { client, output, args, isAsBefore } = await stageOf();
    const running = startCli(args);
    await untilRecorded(output, running, isOnServer);
    running.child.kill('SIGKILL');
    await running.ended;
    expect(await isAsBefore()).toBe(false);
    const tried = await client.modelConfig('fast');
    await client.load('fast', { ...tried, max_batch_size: 3 });
    expect(await runHere(['restore', output])).toMatchObject({
      code: 4,
      stderr: expect.stringMatching(/RESTORE_FAILED: somebody has changed the config of 'fast'/),
    });
    await client.load('fast', tried);
    expect(await runHere(['restore', output])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/'slow' has its original config again; 'fast' is unloaded again/),
    });
    expect(await isAsBefore()).toBe(true);

    const { code, stdout } = await runHere(['tune', '--resume', output]);
    expect(code).toBe(0);
    expect(stdout).toContain('variant=fast');
    expect(lastLineOf(stdout)).toBe(
      "model      'slow' has its original config; 'fast' is unloaded again, as it was before",
    );
    expect(await isAsBefore()).toBe(true);

    const { best, baseline, restored } = await summaryOf(output);
    expect(best).toMatchObject({ assignment: { variant: 'fast' }, config: { name: 'fast', max_batch_size: 4 } });
    expect(baseline?.config).toMatchObject({ name: 'slow', max_batch_size: 8 });
    expect((best?.throughput.value ?? 0) / (baseline?.throughput.value ?? 1)).toBeGreaterThan(2);
    expect(restored).toMatchObject({ verified: true });
    expect(await readdir(join(output, 'best'))).toEqual(['fast']);
    expect(await readFile(join(output, 'best', 'fast', 'config.pbtxt'), 'utf8')).toContain('name: "fast"');

    const records = await recordsOf(output);
    expect(records[0]).toMatchObject({
      wasLoaded: true,
      unloadedOthers: ['fast'],
      original: { value: { models: { slow: {} }, others: { fast: { name: 'fast', max_batch_size: 8 } } } },
    });
    const compared = await runHere(['compare', output, output, '--pass-if-unsure']);
    expect(compared.code).toBe(0);
  });

  it('are unloaded when another one cannot be read, and each that could not be put back is named', async () => {
    const faults: Faults = {};
    const unknown = await stageOf({ variants: '{ slow: {}, fast: { model: fast }, gone: { model: gone } }' });
    expect(await runHere(unknown.args)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/MODEL_UNKNOWN: the server has no model 'gone'/),
    });
    expect(await unknown.isAsBefore()).toBe(true);
    const { output, args } = await stageOf({
      faults,
      candidates: [
        { variant: 'slow', instances: 2 },
        { variant: 'fast', instances: 2 },
      ],
    });
    const run = runHere([...args, '--max-outage', '1s']);
    await untilOnServer(output);
    faults.refuseLoad = () => 'no memory left for it';
    const { code, stdout } = await run;
    expect(code).toBe(4);
    expect(lastLineOf(stdout)).toMatch(
      /^model {6}NOT as it was: 'slow' could not be put back as it was: .*no memory.*; 'fast' is unloaded again/,
    );
    faults.refuseLoad = () => null;
    expect((await runHere(['restore', output])).code).toBe(0);
  });

  it('are refused before anything is measured where they take other requests', async () => {
    const { output, args, isAsBefore } = await stageOf({
      variants: '{ slow: {}, fast: { model: fast }, odd: { model: other } }',
    });
    const { code, stderr } = await runHere(args);
    expect(code).toBe(2);
    expect(stderr).toMatch(/UNSUPPORTED: model 'other' is not a variant of 'slow': its input 'IN' is INT32, not FP32/);
    expect(await recordsOf(output)).toEqual([]);
    expect(await isAsBefore()).toBe(true);
  });

  it('are held and protected like the model of the study', async () => {
    const { args, url, isAsBefore } = await stageOf();
    const letGo = await holdModels(['fast'], { url, controlUrl: url });
    expect((await runHere(args)).stderr).toMatch(/MODEL_LOCKED: .*'fast'/);
    letGo();
    expect(await runHere([...args, '--protect', 'fast'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/USAGE: 'fast' is protected/),
    });
    expect(await isAsBefore()).toBe(true);
  });
});
