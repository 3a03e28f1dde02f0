import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type EmulatorProfile, emulatorSchema } from '#emulator/profile/schema.ts';
import { callCli } from '../support/call-cli.ts';
import { runCli } from '../support/cli.ts';
import { emulatorForTest, everyKindProfile } from '../support/emulator.ts';
import { freshDirectory, recordsOf, summaryOf } from '../support/run-directory.ts';

/** Two models without a device in common: `a` takes 4 ms an execution, `b` 10 ms. */
function twoModels(): EmulatorProfile {
  const { models, ensembles: _, ...profile } = everyKindProfile();
  const [m] = models;
  const named = (name: string, ms: number) => ({
    ...m,
    config: { ...m?.config, name },
    law: { execution_ms: [[1, ms]] },
  });
  return emulatorSchema.parse({ ...profile, models: [named('a', 4), named('b', 10)] });
}

async function stage() {
  const emulator = await emulatorForTest({ profile: twoModels() });
  const directory = await freshDirectory();
  const list = join(directory, 'candidates.json');
  await writeFile(list, JSON.stringify([{ 'a/instances': 2, 'b/instances': 2 }]));
  const output = join(directory, 'run');
  const at = ['-u', emulator.grpcUrl, '--metrics-url', emulator.metricsUrl];
  const short = ['--sampler', 'manual', '--candidates', list, '--precision', '20', '--time-budget', '2s'];
  return { output, args: ['tune', '--together', 'a,b', ...at, ...short, '-o', output] };
}

describe('models that share a server', { timeout: 120_000 }, () => {
  it('are measured at the same time by their shares, each against its own budget', async () => {
    const { output, args } = await stage();
    const goal = [
      '--mix',
      'a=3,b=1',
      '--percentile',
      '50',
      '--latency-budget',
      'a=4000,b=6000',
      '--concurrency',
      '8:8',
    ];
    const outcome = await runCli([...args, ...goal]);
    expect(outcome).toMatchObject({ code: 0 });
    const measured = (await recordsOf(output)).filter((record) => record.type === 'trial-measured');
    for (const { measurement } of measured) {
      expect(measurement.fronts?.map(({ model, level }) => [model, level.value])).toEqual([
        ['a', 6],
        ['b', 2],
      ]);
      expect(measurement.foreignRequests).toBeUndefined();
    }
    const summary = await summaryOf(output);
    expect(summary.objectives).toEqual([
      { metric: 'throughput@a', weight: 3 },
      { metric: 'throughput@b', weight: 1 },
    ]);
    expect(summary.constraints.map(({ metric, value }) => [metric, value])).toEqual([
      ['latency@a', 4000],
      ['latency@b', 6000],
    ]);
    expect(Object.keys(summary.best?.fronts ?? {})).toEqual(['a', 'b']);
    expect(outcome.stdout).toMatch(/\n {8}a at concurrency 6: /);
    const [header = ''] = (await readFile(join(output, 'results.csv'), 'utf8')).split('\r\n');
    expect(header).toContain(',throughput_infer_per_s@a,');
    expect(await readFile(join(output, 'report.html'), 'utf8')).toContain('What the clients of each model saw');
  });

  it('keep a fixed rate where one is asked for', async () => {
    const { output, args } = await stage();
    // 3: on a machine that is too busy to send in time.
    const { code } = await callCli([...args, '--mix', 'a,b=20/s', '--concurrency', '4:4']);
    expect([0, 3]).toContain(code);
    const measured = (await recordsOf(output)).filter((record) => record.type === 'trial-measured');
    for (const { measurement } of measured) {
      const [a, b] = measurement.fronts ?? [];
      expect(a?.level).toMatchObject({ mode: 'concurrency', value: 4 });
      expect(b?.level).toMatchObject({ mode: 'request-rate', value: 20 });
      expect((b?.throughput.value ?? 0) / 20).toBeGreaterThan(0.8);
    }
  });

  it('are named in what a goal is about', async () => {
    const { args } = await stage();
    const refused = await callCli([...args, '--constraint', 'latency@c<=5']);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain("'latency@c' is about 'c'");
    expect(refused.stderr).toContain('the models are a, b');
  });
});
