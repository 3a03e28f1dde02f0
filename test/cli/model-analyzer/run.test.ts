import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { emulatorSchema } from '#emulator/profile/schema.ts';
import type { SeriesSummary } from '#study/summary/summary-schema.ts';
import { runCli } from '../../support/cli.ts';
import { emulatorForTest, smallProfile } from '../../support/emulator.ts';
import { freshDirectory, recordsOf, summaryOf } from '../../support/run-directory.ts';

it("runs a file of Model Analyzer's as it is: its models, values, levels and limits, and says what is ignored", async () => {
  const [model] = smallProfile({ a: 4, b: 0.4 }).models;
  // The original is the better one: no final has to decide.
  const instance_group = [{ count: 2, kind: 'KIND_CPU' }];
  const models = ['net', 'text'].map((name) => ({ ...model, config: { ...model?.config, name, instance_group } }));
  const emulator = await emulatorForTest({ profile: emulatorSchema.parse({ ...smallProfile(), models }) });
  const cwd = await freshDirectory();
  await writeFile(
    join(cwd, 'analyzer.yaml'),
    `
triton_launch_mode: remote
triton_grpc_endpoint: ${emulator.grpcUrl}
export_path: out
checkpoint_directory: checkpoints
latency_budget: 500
profile_models:
  net:
    parameters: {concurrency: [1, 3]}
    model_config_parameters:
      instance_group: [{kind: KIND_CPU, count: [1]}]
    weighting: 2
  text:
    parameters: {concurrency: 2, batch_sizes: 2}
    constraints: {perf_latency_p95: {max: 400}}
    model_config_parameters: {max_batch_size: [8]}
`,
  );
  const args = ['tune', '--model-analyzer-config', 'analyzer.yaml', '--precision', '50', '--ui', 'lines'];
  const run = await runCli(args, { cwd });
  expect(run).toMatchObject({ code: 0 });
  const lines = run.stderr
    .trim()
    .split('\n')
    .filter((line) => line.includes(' is ignored: '));
  expect(lines).toEqual([
    expect.stringMatching(/^analyzer\.yaml: checkpoint_directory is ignored: the journal /),
    expect.stringMatching(/^analyzer\.yaml: profile_models\.net\.weighting is ignored: models are tuned one after/),
  ]);

  const out = join(cwd, 'out');
  const series = JSON.parse(await readFile(join(out, 'summary.json'), 'utf8')) as SeriesSummary;
  expect(series.models).toMatchObject([
    { model: 'net', exitCode: 0 },
    { model: 'text', exitCode: 0 },
  ]);
  const summary = await summaryOf(join(out, 'net'));
  expect(summary).toMatchObject({ sampler: 'grid', budget: { percentile: 99, latencyMs: 500 } });
  expect(summary.modelAnalyzer?.file).toBe('analyzer.yaml');
  expect(summary.modelAnalyzer?.ignored.map(({ key }) => key)).toEqual([
    'checkpoint_directory',
    'profile_models.net.weighting',
  ]);
  const levels = (await recordsOf(join(out, 'net'))).flatMap((record) =>
    record.type === 'trial-measured' ? [[record.trial, record.measurement.level.value]] : [],
  );
  expect(levels).toEqual([
    [0, 1],
    [0, 3],
    [1, 1],
    [1, 3],
  ]);
  const page = await readFile(join(out, 'net', 'report.html'), 'utf8');
  expect(page).toContain('analyzer.yaml, without checkpoint_directory (the journal ');
  const table = await readFile(join(out, 'net', 'results', 'metrics-model-inference.csv'), 'utf8');
  const rows = table.split('\n').map((row) => row.split(',').slice(0, 7).join(','));
  expect(rows[1]).toBe('net,1,3,net_config_default,2:CPU,8,Yes');
  expect(rows.slice(1, -1).sort()).toEqual([
    ...['net,1,1,net_config_1,1:CPU,8,Yes', 'net,1,1,net_config_default,2:CPU,8,Yes'],
    ...['net,1,3,net_config_1,1:CPU,8,Yes', 'net,1,3,net_config_default,2:CPU,8,Yes'],
  ]);
  const [started] = await recordsOf(join(out, 'text'));
  expect(started).toMatchObject({
    spec: { traffic: { batch: 2 } },
    goal: { budget: { percentile: 99, latencyMs: 500 } },
  });
}, 180_000);
