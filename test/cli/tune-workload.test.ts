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
  max_batch_size: { path: max_batch_size, values: [2, 4] }
`;

const workloadOf = (name: string, perSecond: number, arrivals: object, limitMs?: number) => ({
  workloadVersion: 1,
  name,
  ...(limitMs !== undefined && { classes: { short: { limitMs } } }),
  phases: [{ durationS: 1, arrivals: { perSecond, ...arrivals } }],
});

/** Writes workload files, JSON being YAML too, and returns their paths. */
async function written(...workloads: readonly { readonly name: string; readonly classes?: object }[]) {
  const directory = await freshDirectory();
  const files = workloads.map(({ name }) => join(directory, `${name}.yaml`));
  for (const [index, workload] of workloads.entries())
    await writeFile(files[index] as string, JSON.stringify(workload));
  const spaceFile = join(directory, 'space.yaml');
  await writeFile(spaceFile, space);
  return { directory, files, space: spaceFile };
}

const emulator = () => emulatorForTest({ profile: smallProfile({ a: 2, b: 0.5, config: { dynamic_batching: {} } }) });

describe('tune --workload', () => {
  it('measures each level under each file in turn, keeps their figures, and goes on from them', {
    timeout: 240_000,
  }, async () => {
    const { directory, files, space } = await written(
      workloadOf('even', 40, { process: 'constant' }, 200),
      workloadOf('bursts', 20, { process: 'gamma', cv: 4 }, 200),
    );
    const { grpcUrl, metricsUrl } = await emulator();
    const output = join(directory, 'run');
    const at = ['-u', grpcUrl, '--metrics-url', metricsUrl];
    const under = files.flatMap((file) => ['--workload', file]);
    const study = [
      '--robust',
      'quantile:0.9',
      '--workload-weights',
      '3,1',
      '--request-rate',
      '40:40',
      '--client-batch',
      '1',
      '--space',
      space,
    ];
    const search = ['--sampler', 'grid', '--max-trials', '1', '--percentile', '50', '--latency-budget', '500'];
    const goal = [...search, '--constraint', 'goodput>=1'];
    const outcome = await runCli(['tune', '-m', 'm', ...at, ...under, ...study, ...goal, '-o', output]);
    expect(outcome).toMatchObject({ code: 0 });
    expect(outcome.stdout).toContain('2 workloads, combined by the figure that 90 % of the weight has or betters');
    expect(outcome.stdout).toMatch(/^ +bursts: 20 requests\/s: .* within budget/m);

    const records = await recordsOf(output);
    const [started] = records.filter((record) => record.type === 'study-started');
    expect(started?.levels).toEqual({ mode: 'request-rate', low: 40, high: 40 });
    expect(started?.workloads).toMatchObject({
      rule: 'quantile:0.9',
      of: [
        { name: 'even', weight: 3, perLevel: 1, passSeconds: 1 },
        { name: 'bursts', weight: 1, perLevel: 0.5, passSeconds: 1 },
      ],
    });
    const measured = records.filter((record) => record.type === 'trial-measured');
    expect(measured.length).toBeGreaterThanOrEqual(2);
    for (const { measurement } of measured) {
      const own = measurement.workloads?.map(({ workload, weight, level, requests }) => {
        // Whole passes of a second, for five seconds at least; what ends beside them is not
        // counted.
        expect(requests).toBeGreaterThan(4 * level.value);
        expect(requests).toBeLessThan(6 * level.value);
        return [workload, weight, level.value];
      });
      expect(own).toEqual([
        ['even', 3, 40],
        ['bursts', 1, 20],
      ]);
      expect(measurement.goodput?.value).toBeGreaterThan(0);
    }
    const { best } = await summaryOf(output);
    expect(Object.keys(best?.workloads ?? {})).toEqual(['even', 'bursts']);
    expect(await readFile(join(output, 'workloads.csv'), 'utf8')).toMatch(
      /^trial,final_round,level,workload,.*goodput/,
    );

    expect(await callCli(['tune', '--resume', output, ...at])).toMatchObject({ code: 0 });
    await writeFile(files[1] as string, JSON.stringify(workloadOf('bursts', 30, { process: 'poisson' })));
    const changed = await callCli(['tune', '--resume', output, ...at]);
    expect(changed.stderr).toContain('has changed since the study began');
  });

  it('plays every class of every file over shared memory, which is gone afterwards', { timeout: 240_000 }, async () => {
    const classes = { one: {}, four: { requests: { batch: 4 } } };
    const { directory, files, space } = await written(
      { ...workloadOf('even', 40, { process: 'constant' }), classes },
      { ...workloadOf('other', 20, { process: 'poisson' }), classes: { two: { requests: { batch: 2 } } } },
    );
    const { grpcUrl, metricsUrl } = await emulator();
    const client = connectGrpc(grpcUrl);
    onTestFinished(() => client.close());
    const output = join(directory, 'run');
    const at = ['-u', grpcUrl, '--metrics-url', metricsUrl, '--shared-memory', 'system'];
    const under = files.flatMap((file) => ['--workload', file]);
    const study = ['--request-rate', '40:40', '--client-batch', '4', '--space', space, '--sampler', 'grid'];
    const goal = ['--max-trials', '1', '--percentile', '50', '--latency-budget', '500'];
    const { code, stderr } = await callCli(['tune', '-m', 'm', ...at, ...under, ...study, ...goal, '-o', output]);
    expect([code, stderr]).toEqual([0, '']);
    const measured = (await recordsOf(output)).filter((record) => record.type === 'trial-measured');
    expect(measured.length).toBeGreaterThanOrEqual(2);
    for (const { measurement } of measured) {
      expect(measurement.failures).toEqual([]);
      expect(measurement.workloads?.map(({ workload }) => workload)).toEqual(['even', 'other']);
    }
    expect(await client.sharedMemoryRegions()).toEqual([]);
    expect(ownObjects()).toEqual([]);
  });

  it('says what it would do, and for how long', { timeout: 180_000 }, async () => {
    const { files, space } = await written(workloadOf('day', 40, { process: 'constant' }));
    const { grpcUrl, metricsUrl } = await emulator();
    const plan = (...more: string[]) =>
      callCli(['tune', '-m', 'm', '-u', grpcUrl, '--metrics-url', metricsUrl, '--space', space, '--dry-run', ...more]);
    const one = await plan('--workload', files[0] as string);
    expect(one.stdout).toContain('workload day, in passes of 1 s');
    const longer = await plan('--workload', files[0] as string, '--time-scale', '20');
    const secondsOf = (text: string): number => {
      const [, minutes = '0', seconds = '0'] = /expected: about (?:(\d+) min )?(?:([\d.]+) s)?/.exec(text) ?? [];
      return 60 * Number(minutes) + Number(seconds);
    };
    expect(secondsOf(longer.stdout)).toBeGreaterThan(2 * secondsOf(one.stdout));
  });

  it('says what cannot be used with it', { timeout: 180_000 }, async () => {
    const { directory, files } = await written(workloadOf('one', 40, { process: 'constant' }), {
      ...workloadOf('two', 40, { process: 'constant' }),
      classes: { other: { model: 'elsewhere' } },
    });
    const [one = '', two = ''] = files;
    const { grpcUrl } = await emulator();
    const refused = async (...more: string[]): Promise<string> =>
      (await callCli(['tune', '-m', 'm', '-u', grpcUrl, ...more, '-o', join(directory, 'run')])).stderr;
    expect(await refused('--workload', one, '--concurrency', '1:4')).toContain(
      '--workload cannot be used with --concurrency',
    );
    expect(await refused('--workload', one, '--batch-size', '1:4')).toContain('cannot be used with --batch-size');
    expect(await refused('--workload', one, '--robust', 'best')).toContain("'best' is not a rule");
    expect(await refused('--workload', one, '--workload-weights', '1,2')).toContain('as many weights as files');
    expect(await refused('--workload', one, '--workload', one)).toContain("are both named 'one'");
    expect(await refused('--workload', two)).toContain("has requests for 'elsewhere'");
    expect(await refused('--workload', join(directory, 'none.yaml'))).toContain('cannot read');
  });
});
