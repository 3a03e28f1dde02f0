import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadProfile } from '#emulator/profile/profiles.ts';
import { type EmulatorProfile, emulatorSchema } from '#emulator/profile/schema.ts';
import { runCli } from '../support/cli.ts';
import { emulatorForTest } from '../support/emulator.ts';
import { freshDirectory, recordsOf, summaryOf } from '../support/run-directory.ts';

/** The server with four GPUs, with two models of its kind. */
function twoOnFourGpus(): EmulatorProfile {
  const profile = loadProfile('four-gpus');
  const [detector] = profile.models;
  const named = (name: string) => ({ ...detector, config: { ...detector?.config, name } });
  return emulatorSchema.parse({ ...profile, models: [named('a'), named('b')] });
}

describe('models that are tuned together over several GPUs', { timeout: 240_000 }, () => {
  it('are placed on GPUs of their own, under a workload with classes for each, and cost the GPUs of both', async () => {
    const emulator = await emulatorForTest({ profile: twoOnFourGpus() });
    const directory = await freshDirectory();
    const [workload, list, prices, output] = ['w.yaml', 'candidates.json', 'prices.yaml', 'run'].map((name) =>
      join(directory, name),
    ) as [string, string, string, string];
    const classes = { first: { weight: 3, model: 'a' }, second: { weight: 1, model: 'b' } };
    const phases = [{ durationS: 1, arrivals: { process: 'poisson', perSecond: 40 } }];
    await writeFile(workload, JSON.stringify({ workloadVersion: 1, name: 'both', classes, phases }));
    await writeFile(list, JSON.stringify([{ 'a/gpu_count': 1, 'b/gpu_count': 1 }]));
    await writeFile(prices, JSON.stringify({ currency: 'USD', gpus: { L4: 0.8 } }));
    const space = join(directory, 'space.yaml');
    await writeFile(space, JSON.stringify({ extends: 'onnxruntime', parameters: { gpu_count: [1, 4] } }));
    const spaces = ['--space', `a=${space}`, '--space', `b=${space}`];
    const at = ['-u', emulator.grpcUrl, '--metrics-url', emulator.metricsUrl];
    const study = ['--workload', workload, '--request-rate', '40:40', '--percentile', '50', '--latency-budget', '5000'];
    const search = ['--sampler', 'manual', '--candidates', list, '--prices', prices, '--gpu', 'L4'];
    const goal = ['--constraint', 'gpus<=4'];
    const run = await runCli([
      'tune',
      '--together',
      'a,b',
      ...at,
      ...spaces,
      ...study,
      ...search,
      ...goal,
      '-o',
      output,
    ]);
    expect(run.stderr).toBe('');
    // 3: on a machine that is too busy to send in time.
    expect([0, 3]).toContain(run.code);
    const measured = (await recordsOf(output)).filter((record) => record.type === 'trial-measured');
    expect(measured.length).toBeGreaterThanOrEqual(2);
    for (const { measurement } of measured) {
      expect(measurement.device.gpus).toHaveLength(4);
      expect(measurement.fronts?.map(({ model, level }) => [model, level.value])).toEqual([
        ['a', 30],
        ['b', 10],
      ]);
      expect(measurement.classes?.map(({ name, model }) => [name, model])).toEqual([
        ['first', 'a'],
        ['second', 'b'],
      ]);
    }
    const summary = await summaryOf(output);
    expect(Object.keys(summary.best?.fronts ?? {})).toEqual(['a', 'b']);
  });
});
