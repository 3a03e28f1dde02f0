import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { callCli } from '../support/call-cli.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';
import { freshDirectory, recordsOf, summaryOf } from '../support/run-directory.ts';

/** A request of the study may take two seconds, and each instance builds an engine for longer. */
const BUILD_MS = 5_000;
const OPTIONS = ['--request-timeout', '2s', '--concurrency', '1:8', '--ui', 'lines'];

it('a study waits for engines that are built at the first request', { timeout: 400_000 }, async () => {
  const emulator = await emulatorForTest({ profile: smallProfile({ model: { first_execution_ms: BUILD_MS } }) });
  const output = await freshDirectory();
  const study = ['tune', '-m', 'm', '-u', emulator.grpcUrl, '--max-trials', '1', '-o', output];
  const outcome = await callCli([...study, ...OPTIONS]);
  expect(outcome, outcome.stderr).toMatchObject({ code: 0, stderr: '' });
  expect(outcome.stdout).toMatch(/trial 1: .*\n {4}first answers after \d/);
  const records = await recordsOf(output);
  expect(records.flatMap((record) => (record.type === 'trial-finished' ? (record.failure ?? []) : []))).toEqual([]);
  const measured = records.flatMap((record) => (record.type === 'trial-measured' ? record.measurement : []));
  expect(measured.flatMap(({ failures }) => failures)).toEqual([]);
  expect(Math.max(...measured.map(({ latencyMs }) => latencyMs.max))).toBeLessThan(BUILD_MS);
  expect((await summaryOf(output)).counts.failed).toBe(0);
});

it('for as long as --first-request-timeout says', { timeout: 120_000 }, async () => {
  const emulator = await emulatorForTest({ profile: smallProfile({ model: { first_execution_ms: 60_000 } }) });
  const study = ['tune', '-m', 'm', '-u', emulator.grpcUrl, '--time-budget', '1m', '-o', await freshDirectory()];
  const outcome = await callCli([...study, '--first-request-timeout', '3s', ...OPTIONS]);
  expect(outcome).toMatchObject({
    code: 4,
    stderr: expect.stringMatching(/answered none of its first requests within 3 s/),
  });
});

it("once for each engine of ONNX Runtime's TensorRT, however often it is loaded", { timeout: 240_000 }, async () => {
  const model = {
    arms: [
      {
        name: 'TensorRT',
        when: { 'optimization.execution_accelerators.gpu_execution_accelerator.name': 'tensorrt' },
        first_execution_ms: BUILD_MS,
        scale: 0.5,
      },
    ],
  };
  const config = {
    backend: 'onnxruntime',
    platform: 'onnxruntime_onnx',
    instance_group: [{ count: 1, kind: 'KIND_GPU' }],
  };
  const device = { kind: 'gpu', name: 'emulated GPU', memory_mib: 8192 };
  // Executions of ten milliseconds: a busy machine's own overhead must not hide the faster arm.
  const profile = smallProfile({ a: 10, b: 1, model, config, profile: { device } });
  const emulator = await emulatorForTest({ profile });
  const output = await freshDirectory();
  const space = join(output, '..', 'precision.yaml');
  await writeFile(
    space,
    'name: precision\nparameters:\n  tensorrt_precision: [FP16]\n  graph_level: [0, 1]\n  instances: [1]\n',
  );
  const study = ['tune', '-m', 'm', '-u', emulator.grpcUrl, '--space', space, '--sampler', 'grid', '-o', output];
  const outcome = await callCli([...study, '--max-trials', '2', '--precision', '30', ...OPTIONS]);
  expect(outcome, outcome.stderr).toMatchObject({ code: 0, stderr: '' });
  const waits = (await recordsOf(output)).flatMap((record) =>
    record.type === 'trial-measured' ? (record.measurement.firstAnswersMs ?? []) : [],
  );
  expect(waits.filter((ms) => ms > BUILD_MS / 2)).toHaveLength(1);
  expect(outcome.stdout).toMatch(
    /\nmodel .*original config again; TensorRT's engines are left in \/tmp\/tritune-engines-/,
  );
  const summary = await summaryOf(output);
  expect(summary.best?.assignment).toMatchObject({ tensorrt_precision: 'FP16' });
  expect(JSON.stringify(await recordsOf(output))).not.toContain('trt_engine_cache');
});
