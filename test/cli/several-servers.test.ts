import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { toModelConfigs } from '#space/model-configs.ts';
import { countInstances } from '#triton/config/instances.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import type { TritonClient } from '#triton/types.ts';
import { callCli } from '../support/call-cli.ts';
import { emulatorForTest, everyKindProfile, smallProfile } from '../support/emulator.ts';
import { freshDirectory, recordsOf } from '../support/run-directory.ts';

const QUICK = ['--precision', '50', '--ui', 'lines'];

/** Two emulators, as `-u` names them, and what asks each. */
async function twoServers(profile = smallProfile({ config: { dynamic_batching: {} }, a: 4 })) {
  const servers = [await emulatorForTest({ profile }), await emulatorForTest({ profile })];
  const onEach = async <T>(call: (client: TritonClient) => Promise<T>): Promise<readonly T[]> => {
    const answers: T[] = [];
    for (const { grpcUrl } of servers) {
      const client = connectGrpc(grpcUrl);
      answers.push(await call(client).finally(() => client.close()));
    }
    return answers;
  };
  const [first, second] = servers.map(({ grpcUrl }) => grpcUrl) as [string, string];
  const endSecond = () => servers[1]?.close();
  return {
    endSecond,
    onEach,
    first,
    second,
    url: `${first},${second}`,
    http: servers.map(({ httpUrl }) => httpUrl).join(),
  };
}

const countRequests = async (client: TritonClient): Promise<number> =>
  (await client.statistics('m')).reduce((sum, { success }) => sum + success.count, 0);

describe('several servers as one', { timeout: 120_000 }, () => {
  it('share the requests of a profile, and their statistics are added', async () => {
    const { url, http, onEach } = await twoServers();
    for (const way of [
      ['-u', url],
      ['-u', http, '-i', 'http'],
    ]) {
      const before = await onEach(countRequests);
      const outcome = await callCli(['profile', '-m', 'm', ...way, '--concurrency-range', '4', '--precision', '50']);
      expect(outcome, outcome.stderr).toMatchObject({ code: 0 });
      const [a = 0, b = 0] = (await onEach(countRequests)).map((count, place) => count - (before[place] ?? 0));
      expect(a).toBeGreaterThan(20);
      expect(Math.abs(a - b)).toBeLessThan(0.25 * a);
      const counted = Number(/Successful request count: (\d+)/.exec(outcome.stdout)?.[1]);
      const sent = Number(/Request count: (\d+)/.exec(outcome.stdout)?.[1]);
      // One server alone would have counted half.
      expect(counted / sent).toBeGreaterThan(0.8);
    }
  });

  it('get every candidate of a study, and are all restored', async () => {
    const { url, onEach, endSecond } = await twoServers();
    const run = join(await freshDirectory(), 'run');
    const readConfigs = () => onEach((client) => client.modelConfig('m'));
    const before = await readConfigs();
    const study = ['tune', '-m', 'm', '-u', url, '--concurrency', '1:8', '--max-trials', '2', ...QUICK, '-o', run];
    const outcome = await callCli(study);
    expect(outcome, outcome.stderr).toMatchObject({ code: 0, stderr: '' });
    expect(await readConfigs()).toEqual(before);
    for (const each of url.split(',')) expect(outcome.stdout).toContain(`${each}: 'm' has its original config again`);
    const records = await recordsOf(run);
    const [began] = records.flatMap((record) => (record.type === 'study-started' ? record : []));
    expect(began?.server).toMatchObject({ url, controlUrl: url });
    for (const record of records) {
      if (record.type !== 'trial-started') continue;
      const { value, shape } = record.candidate;
      const [config = {}] = Object.values(toModelConfigs({ value }));
      expect(shape.policy.instances).toBe(2 * countInstances(config));
    }
    expect(await callCli(['tune', '--resume', run, '-u', url.split(',')[0] as string])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('the study began with 2 servers'),
    });
    const restored = await callCli(['restore', run, '--force']);
    expect(restored, restored.stderr).toMatchObject({ code: 0 });
    expect(restored.stdout.match(/has its original config again/g)).toHaveLength(2);
    // One that is gone does not keep the other from being restored, but it is said.
    await endSecond();
    const half = await callCli(['restore', run, '--force']);
    expect(half.code).not.toBe(0);
    expect(half.stderr).toMatch(/RESTORE_FAILED: cannot reach the server at .*; 'm' has its original config again/);
  });

  it('must be alike', async () => {
    const { url, second, first, onEach } = await twoServers();
    const client = connectGrpc(second);
    const [config = {}] = await onEach((each) => each.modelConfig('m'));
    await client.load('m', { ...config, dynamic_batching: { max_queue_delay_microseconds: 70 } });
    const study = ['tune', '-m', 'm', '-u', url, '--max-trials', '1', ...QUICK, '-o'];
    const run = join(await freshDirectory(), 'run');
    expect(await callCli([...study, run])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining(
        `'m' has another dynamic_batching.max_queue_delay_microseconds on ${second} than on ${first}`,
      ),
    });
    await client.unload('m');
    expect(await callCli([...study, run])).toMatchObject({
      stderr: expect.stringContaining(`'m' is loaded on ${first}, but not on ${second}`),
    });
    await client.close();
  });

  it('are refused by name where one is needed', async () => {
    const { url, first } = await twoServers(everyKindProfile());
    const refusalOf = async (...args: string[]) => {
      const { code, stderr } = await callCli(args);
      expect(code).toBe(2);
      return stderr;
    };
    const quick = ['--concurrency-range', '1', '--precision', '50'];
    expect(await refusalOf('profile', '-m', 'seq', '-u', url, ...quick)).toContain('a sequence must go to one server');
    const tune = ['tune', '-m', 'm', '-u', url, '--dry-run'];
    expect(await refusalOf(...tune, '--trace')).toContain('--trace works with one server only');
    expect(await refusalOf(...tune, '--control-url', first)).toContain('--control-url has 1 addresses, and -u has 2');
    expect(await refusalOf('tune', '-m', 'm', '-u', `${first},${first}`, '--dry-run')).toContain(
      `-u has ${first} twice`,
    );
    expect(await refusalOf('config', '-m', 'm', '-u', url)).toContain('give the address of one server here');
  });
});
