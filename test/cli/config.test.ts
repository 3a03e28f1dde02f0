import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import {
  batchSizes,
  byteCount,
  deviceInstances,
  microseconds,
  servedVersions,
  tensor,
} from '#cli/commands/config-values.ts';
import { startEmulator } from '#emulator/start-emulator.ts';
import { parseConfigText } from '#triton/config/parser.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { callCli } from '../support/call-cli.ts';
import { runCli } from '../support/cli.ts';
import { smallProfile } from '../support/emulator.ts';
import { freshDirectory } from '../support/run-directory.ts';

const emulator = await startEmulator({ profile: smallProfile() });
const client = connectGrpc(emulator.grpcUrl);
afterAll(async () => {
  await client.close();
  await emulator.close();
});

describe('the values of config', () => {
  it('are read in their units', () => {
    expect(['500us', '500', '2ms', '1s'].map(microseconds)).toEqual([500, 500, 2000, 1_000_000]);
    expect(batchSizes('8', batchSizes('2,4', undefined))).toEqual([2, 4, 8]);
    expect(['gpu=2', '3:1', '3=1', 'cpu=4', 'model=1'].map((text) => deviceInstances(text, undefined)[0])).toEqual([
      { kind: 'KIND_GPU', gpu: null, count: 2 },
      { kind: 'KIND_GPU', gpu: 3, count: 1 },
      { kind: 'KIND_GPU', gpu: 3, count: 1 },
      { kind: 'KIND_CPU', gpu: null, count: 4 },
      { kind: 'KIND_MODEL', gpu: null, count: 1 },
    ]);
    expect(tensor('a:b:BYTES:-1,2', undefined)).toEqual([{ name: 'a:b', data_type: 'TYPE_STRING', dims: [-1, 2] }]);
  });

  it("may have Model Navigator's names and spellings", async () => {
    const folder = await freshDirectory();
    const file = join(folder, 'config.pbtxt');
    const words =
      '--model-name tft --model-format tensorrt --max-batch-size 1024 --batching dynamic --preferred-batch-sizes 512,1024 ' +
      '--max-queue-delay-us 1 --engine-count-per-device gpu=2 --tensorrt-capture-cuda-graph 1 --load-model-timeout-s 100 ' +
      '--backend-accelerator trt --tensorrt-precision fp16 --inputs I:FP32:3 --outputs O:FP32:1';
    const outcome = await callCli(['config', ...words.split(' '), '-o', file]);
    expect(outcome, outcome.stderr).toMatchObject({ code: 0 });
    expect(parseConfigText(await readFile(file, 'utf8'), file).config).toMatchObject({
      name: 'tft',
      platform: 'tensorrt_plan',
      max_batch_size: 1024,
      instance_group: [{ count: 2, kind: 'KIND_GPU' }],
      dynamic_batching: { preferred_batch_size: [512, 1024], max_queue_delay_microseconds: 1 },
      optimization: {
        cuda: { graphs: true },
        execution_accelerators: {
          gpu_execution_accelerator: [{ name: 'tensorrt', parameters: { precision_mode: 'FP16' } }],
        },
      },
    });
    expect(await callCli(['config', '--from', file, '--tensorrt-precision', 'fp8'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("'fp8' is not a precision"),
    });
  });

  it('are read as sizes of memory and as versions', () => {
    expect(['4096', '512MiB', '2 GiB'].map(byteCount)).toEqual([4096, 2 ** 29, 2 ** 31]);
    expect(['3', '1, 3', 'latest', 'latest:2', 'all'].map(servedVersions)).toEqual([
      [3],
      [1, 3],
      { latest: 1 },
      { latest: 2 },
      'all',
    ]);
    for (const text of ['', '1GB', '-1']) expect(() => byteCount(text)).toThrow(/bytes/);
    for (const text of ['', '0', 'newest', '1,']) {
      expect(() => servedVersions(text)).toThrow(expect.objectContaining({ code: 'USAGE' }));
    }
  });

  it.each(['x', '', '-1', '2h2', '1.5us'])('do not take a delay of %j', (text) => {
    expect(() => microseconds(text)).toThrow(expect.objectContaining({ code: 'USAGE' }));
  });

  it.each(['4', 'gpu', 'gpu=0', 'tpu=1', '0:'])('do not take instances %j', (text) => {
    expect(() => deviceInstances(text, undefined)).toThrow(expect.objectContaining({ code: 'USAGE' }));
  });
});

describe('config', { timeout: 180_000 }, () => {
  it("edits the server's own config, says what changed, and loads it", async () => {
    const args = [
      'config',
      '-m',
      'm',
      '-u',
      emulator.grpcUrl,
      '--max-batch-size',
      '4',
      '--instances',
      'cpu=2',
      '--load',
    ];
    const { code, stdout, stderr } = await runCli([...args, '--max-queue-delay', '2ms']);
    expect(stderr.split('\n').slice(0, 3)).toEqual([
      'dynamic_batching: absent → {"max_queue_delay_microseconds":2000}',
      'instance_group[0].count: 1 → 2',
      'max_batch_size: 8 → 4',
    ]);
    expect(stderr).toMatch(/\nloaded 'm' on [^\n]+\n$/);
    expect(code).toBe(0);
    expect(parseConfigText(stdout, 'stdout').config).toMatchObject({ name: 'm', max_batch_size: 4 });
    expect(await client.modelConfig('m')).toMatchObject({
      max_batch_size: 4,
      instance_group: [{ count: 2 }],
      dynamic_batching: { max_queue_delay_microseconds: 2000 },
    });
  });

  it('sends and writes nothing that Triton would refuse', async () => {
    const before = await client.modelConfig('m');
    const file = join(await freshDirectory(), 'config.pbtxt');
    const args = ['config', '-m', 'm', '-u', emulator.grpcUrl, '--preferred-batch-sizes', '99', '--load', '-o', file];
    expect(await callCli(args)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/^tritune: CONFIG_INVALID: .*preferred_batch_size\[0\] 99 is above.*\n$/),
    });
    expect(await client.modelConfig('m')).toEqual(before);
    await expect(readFile(file)).rejects.toThrow();
  });

  it('makes a config from nothing, writes over no file unless told to, and takes a file as its start', async () => {
    const directory = await freshDirectory();
    const [file, other] = [join(directory, 'new', 'config.pbtxt'), join(directory, 'other.pbtxt')];
    const make = ['config', '-m', 'fresh', '--backend', 'onnxruntime', '--inputs', 'IN:FP32:-1,3', '--outputs'];
    const first = await callCli([...make, 'OUT:FP32:1', '--max-batch-size', '8', '-o', file]);
    expect(first).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('max_batch_size: absent → 8') });
    const written = await readFile(file, 'utf8');
    expect(await callCli([...make, 'OUT:INT8:1', '-o', file])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/tritune: OUTPUT_EXISTS: [^\n]+\n$/),
    });
    expect(await readFile(file, 'utf8')).toBe(written);
    expect((await callCli([...make, 'OUT:INT8:1', '-o', file, '--force'])).code).toBe(0);
    expect(await readFile(file, 'utf8')).toContain('TYPE_INT8');
    await writeFile(other, `${written}brand_new_field { a: [1, 2] }\n`);
    const edited = await callCli(['config', '--from', other, '--batching', 'dynamic']);
    expect(edited).toMatchObject({ code: 0, stderr: 'dynamic_batching: absent → {}\n' });
    expect(edited.stdout).toContain('brand_new_field { a: [1, 2] }');
  });

  it("names the file and the version of a model by its path, and the accelerator's workspace", async () => {
    const model = join(await freshDirectory(), 'net');
    for (const [version, files] of [
      ['1', ['model.plan']],
      ['3', ['fp16.plan', 'fp32.plan']],
    ] as const) {
      await mkdir(join(model, version), { recursive: true });
      for (const file of files) await writeFile(join(model, version, file), '');
    }
    const made = async (...args: string[]) => {
      const { code, stdout, stderr } = await callCli(['config', '-m', 'net', '--backend', 'onnxruntime', ...args]);
      return code === 0 ? parseConfigText(stdout, 'stdout').config : stderr;
    };
    expect(await made('--model-path', join(model, '3', 'fp16.plan'))).toMatchObject({
      default_model_filename: 'fp16.plan',
      version_policy: { specific: { versions: [3] } },
    });
    const first = { default_model_filename: 'model.plan', version_policy: { specific: { versions: [1] } } };
    expect(await made('--model-path', join(model, '1'))).toMatchObject(first);
    expect(await made('--model-path', model, '--model-version', '1')).toMatchObject(first);
    expect(await made('--model-path', model)).toMatch(/INPUT_INVALID: .*several files: fp16.plan, fp32.plan/);
    expect(await made('--model-path', model, '--model-version', '2')).toMatch(/no directory of a version 2/);
    expect(await made('--model-path', join(model, '9'))).toMatch(/INPUT_INVALID: cannot read/);
    expect(await made('--model-version', 'latest:2')).toMatchObject({
      version_policy: { latest: { num_versions: 2 } },
    });
    expect(await made('--tensorrt-max-workspace-size', '1GiB')).toMatch(
      /USAGE: the config has no TensorRT accelerator/,
    );
    expect(await made('--backend-accelerator', 'trt', '--tensorrt-max-workspace-size', '1GiB')).toMatchObject({
      optimization: {
        execution_accelerators: {
          gpu_execution_accelerator: [{ name: 'tensorrt', parameters: { max_workspace_size_bytes: '1073741824' } }],
        },
      },
    });
  });

  it.each([
    [['config'], /no config to start from/],
    [['config', '--from', 'f', '--backend', 'b'], /--from cannot be used/],
    [['config', '-m', 'm', '--inputs', 'I:FP32:1'], /a new config only/],
  ])('refuses %j', async (args, text) => {
    const outcome = await callCli(args);
    expect(outcome.code).toBe(2);
    expect(outcome.stderr).toMatch(text);
  });
});
