import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connectGrpc } from '#triton/control/connect.ts';
import { callCli } from '../support/call-cli.ts';
import { runCli } from '../support/cli.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';
import { freshDirectory, recordsOf, summaryOf } from '../support/run-directory.ts';
import { ownObjects } from '../support/shared-memory-suite.ts';

const space = `name: batches
parameters:
  max_batch_size: { path: max_batch_size, values: [8, 32] }
`;

describe('the best batch for one client', () => {
  it('is found within the budget, with a config that takes it', { timeout: 180_000 }, async () => {
    // 32 samples take 20 ms, 8 take 8 ms.
    const profile = smallProfile({ a: 4, b: 0.5, config: { dynamic_batching: {} } });
    const emulator = await emulatorForTest({ profile });
    const directory = await freshDirectory();
    const [file, output] = [join(directory, 'space.yaml'), join(directory, 'run')];
    await writeFile(file, space);
    const at = ['-u', emulator.grpcUrl, '--metrics-url', emulator.metricsUrl];
    const study = ['--concurrency', '1', '--batch-size', '1:64', '--space', file];
    const short = ['--percentile', '50', '--latency-budget', '60', '--max-trials', '1', '--precision', '20'];
    const outcome = await runCli(['tune', '-m', 'm', ...at, ...study, ...short, '-o', output]);
    expect(outcome).toMatchObject({ code: 0 });

    const { best, baseline, gain } = await summaryOf(output);
    // A budget that nothing misses: the largest request that the config takes has the most
    // inferences per second.
    expect(best?.load).toMatchObject({ mode: 'concurrency', value: 1 });
    expect(best?.load.batch).toBeGreaterThan(16);
    expect(best?.load.batch).toBeLessThanOrEqual(32);
    expect(best?.assignment).toEqual({ max_batch_size: 32 });
    expect(baseline?.load.batch).toBe(8);
    expect(gain?.ratio).toBeGreaterThan(1.2);
    const measured = (await recordsOf(output)).filter((record) => record.type === 'trial-measured');
    const batches = measured.map(({ trial, measurement }) => [trial, measurement.level.batch ?? 0] as const);
    expect(batches.every(([trial, batch]) => batch >= 1 && batch <= (trial === 0 ? 8 : 32))).toBe(true);
    // Inferences, not requests.
    const one = measured.find(({ measurement }) => measurement.level.batch === 8)?.measurement;
    expect((one?.throughput.value ?? 0) / (one?.sendRate ?? 1)).toBeGreaterThan(6);

    expect(outcome.stdout).toMatch(/at concurrency 1, batch \d+/);
    const [header = '', ...rows] = (await readFile(join(output, 'results.csv'), 'utf8')).trim().split(/\r?\n/);
    const batchColumn = header.split(',').indexOf('load_batch');
    expect(rows.map((row) => Number(row.split(',')[batchColumn]))).toContain(best?.load.batch);
    const page = await readFile(join(output, 'report.html'), 'utf8');
    expect(page).toContain(`1×${best?.load.batch}`);
    // What if: over batches, with what was measured of the best's config in any of its trials.
    expect(page).toContain('<th>client batch</th><th>predicted, infer/s</th>');
    expect(page).toContain('"nameOfLevels":"client batch"');
    expect(page).toMatch(new RegExp(`<tr><td>${best?.load.batch}</td>(<td>[^<]+</td>){4}</tr>`));
    expect(page).toContain('client batch that meets it with 90 % probability');
    expect(await callCli(['tune', '--resume', output, ...at])).toMatchObject({ code: 0 });
  });

  it.each(['random', 'a file'])(
    'is found over shared memory, registered once for all sizes and candidates, with data: %s',
    { timeout: 180_000 },
    async (data) => {
      const profile = smallProfile({ a: 2, b: 0.2, config: { dynamic_batching: {} } });
      const emulator = await emulatorForTest({ profile });
      const client = connectGrpc(emulator.grpcUrl);
      onTestFinished(() => client.close());
      const directory = await freshDirectory();
      const [file, values, output] = ['space.yaml', 'data.json', 'run'].map((name) => join(directory, name)) as [
        string,
        string,
        string,
      ];
      await writeFile(file, space);
      const steps = [1, 2, 3].map((value) => ({ IN: [value, 0, 0, 0] }));
      const validation_data = steps.map(() => ({ OUT: [0, 0, 0, 0] }));
      await writeFile(values, JSON.stringify({ data: steps, validation_data }));
      const at = ['-u', emulator.grpcUrl, '--metrics-url', emulator.metricsUrl, '--shared-memory', 'system'];
      const study = ['--concurrency', '1', '--batch-size', '1:1024', '--space', file, '--max-trials', '1'];
      const short = ['--percentile', '50', '--latency-budget', '60', '--precision', '20'];
      const inputs = data === 'random' ? [] : ['--input-data', values];
      const running = callCli(['tune', '-m', 'm', ...at, ...study, ...short, ...inputs, '-o', output]);
      const names = new Set<string>();
      const watch = setInterval(async () => {
        for (const { name } of await client.sharedMemoryRegions().catch(() => [])) names.add(name);
      }, 5);
      const { code, stderr } = await running;
      clearInterval(watch);
      expect([code, stderr]).toEqual([0, '']);
      const { best } = await summaryOf(output);
      expect(best?.load).toMatchObject({ mode: 'concurrency', value: 1, batch: expect.any(Number) });
      expect(best?.assignment).toEqual({ max_batch_size: 32 });
      expect(best?.load.batch).toBeGreaterThan(16);
      const measured = (await recordsOf(output)).filter((record) => record.type === 'trial-measured');
      expect(measured.flatMap(({ measurement: { failures } }) => failures)).toEqual([]);
      expect(new Set(measured.map(({ measurement }) => measurement.level.batch)).size).toBeGreaterThan(2);
      // Two for the requests that are sent first, and two for all others.
      expect(names.size).toBeLessThanOrEqual(4);
      expect(await client.sharedMemoryRegions()).toEqual([]);
      expect(ownObjects()).toEqual([]);
    },
  );

  it('says which options do not go with it', async () => {
    const emulator = await emulatorForTest({ profile: smallProfile() });
    const refused = async (...more: string[]) => {
      const tune = ['tune', '-m', 'm', '-u', emulator.grpcUrl, '--batch-size', '1:8', ...more];
      return (await callCli([...tune, '-o', join(await freshDirectory(), 'run')])).stderr;
    };
    expect(await refused('--request-rate', '10:20')).toMatch(/^tritune: USAGE: --batch-size .* --request-rate /);
    expect(await refused('-b', '4')).toMatch(/^tritune: USAGE: --batch-size .* --batch /);
  });
});
