import { cp, mkdir, mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, inject, it } from 'vitest';
import { compareConfigs } from '#triton/config/comparison.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import type { TritonClient } from '#triton/types.ts';
import { runCli } from '../support/cli.ts';
import { startRealTriton } from '../support/real-triton.ts';
import { failuresIn, freshDirectory, recordsOf, summaryOf } from '../support/run-directory.ts';
import { spaceFile } from './spaces.ts';

const server = inject('realServer');
const client = connectGrpc(server.grpcUrl);
afterAll(() => client.close());

const ways = {
  grpc: ['-u', server.grpcUrl, '-i', 'grpc'],
  http: ['-u', server.httpUrl, '-i', 'http', '--control-url', server.grpcUrl],
  'http, control over HTTP too': ['-u', server.httpUrl, '-i', 'http'],
} as const;

const tuneQuickly = async (model: string, space: Parameters<typeof spaceFile>[0], ...more: string[]) => {
  const output = await freshDirectory();
  const what = ['-m', model, '--space', await spaceFile(space), '--metrics-url', server.metricsUrl, '-o', output];
  const outcome = await runCli(['tune', ...what, '--sampler', 'grid', '--precision', '10', ...more]);
  return { output, outcome };
};

/**
 * Five times what the original config needs at the highest level: at the edge of a budget finals
 * take their time, and a machine that stops for 80 ms now and then must not decide.
 */
const BUDGET_MS = 200;

const tuneSleeper = (way: keyof typeof ways) =>
  tuneQuickly(
    'sleeper',
    'sleeper',
    ...ways[way],
    '--latency-budget',
    String(BUDGET_MS),
    '--concurrency',
    '8:16',
    '--max-trials',
    '1',
  );

/** The run over gRPC, which more than one test looks at. */
let overGrpc: ReturnType<typeof tuneSleeper> | undefined;
const run = (way: keyof typeof ways): ReturnType<typeof tuneSleeper> => {
  if (way !== 'grpc') return tuneSleeper(way);
  overGrpc ??= tuneSleeper('grpc').then((done) => {
    if (done.outcome.code !== 0) overGrpc = undefined;
    return done;
  });
  return overGrpc;
};

describe('tune on a real Triton', () => {
  it.each(Object.keys(ways) as (keyof typeof ways)[])(
    'beats the original config over %s and puts it back',
    async (way) => {
      const before = await client.modelConfig('sleeper');
      const { output, outcome } = await run(way);
      expect(outcome, outcome.stdout).toMatchObject({ code: 0, stderr: '' });
      const summary = await summaryOf(output);
      expect(summary).toMatchObject({
        model: 'sleeper',
        server: { name: 'triton', version: '2.51.0' },
        feasible: true,
      });
      expect(summary.emulated).toBeNull();
      expect(summary.best?.throughput.value).toBeGreaterThan(summary.baseline?.throughput.value as number);
      expect(summary.gain?.ratio).toBeGreaterThan(1.2);
      // On a machine that others slow down, the budget is kept at its usual speed.
      const { budgetLatencyMs } = summary.best?.compared ?? summary.best ?? {};
      expect(budgetLatencyMs?.value).toBeLessThanOrEqual(BUDGET_MS);
      expect(compareConfigs(before, await client.modelConfig('sleeper'))).toEqual([]);
      expect(summary.restored?.verified).toBe(true);
      const measured = (await recordsOf(output)).filter((record) => record.type === 'trial-measured');
      // A reading that is missing says why.
      const missing = measured.flatMap(({ measurement: { server, serverNote } }) => (server ? [] : [serverNote]));
      expect(missing).toEqual([]);
      expect(measured.every((record) => (record.measurement.server?.executionCount ?? 0) > 0)).toBe(true);
    },
  );

  it('changes only what it must: the original needs no load, an override is read back before it is measured', async () => {
    const { output } = await run('grpc');
    const applied = (await recordsOf(output)).filter((record) => record.type === 'trial-applied');
    expect(applied[0]).toMatchObject({ trial: 0, change: 'none' });
    expect(applied.find(({ trial }) => trial !== 0)).toMatchObject({ trial: 1, change: 'full' });
  });

  it('emits a config.pbtxt that a fresh repository loads', async () => {
    const { output } = await run('grpc');
    const summary = await summaryOf(output);
    const repository = await mkdtemp(join(tmpdir(), 'tritune-emitted-'));
    await mkdir(join(repository, 'sleeper'));
    await cp(join(server.modelRepository, 'sleeper', '1'), join(repository, 'sleeper', '1'), { recursive: true });
    await cp(join(output, 'best', 'sleeper', 'config.pbtxt'), join(repository, 'sleeper', 'config.pbtxt'));
    const fresh = await startRealTriton(repository, { loadModels: ['sleeper'] });
    const freshClient = connectGrpc(fresh.grpcUrl);
    try {
      expect(await freshClient.modelReady('sleeper')).toBe(true);
      const served = await freshClient.modelConfig('sleeper');
      // What only the server's config has are its own defaults.
      const differences = compareConfigs(summary.best?.config ?? {}, served);
      expect(differences.filter(({ before }) => before !== undefined)).toEqual([]);
    } finally {
      await freshClient.close();
      await fresh.stop();
    }
    expect(await readFile(join(output, 'report.html'), 'utf8')).toContain('</html>');
  });

  it('takes a refused load for a failed trial, prunes what must fail too, and goes on', async () => {
    const { output, outcome } = await tuneQuickly('two_at_most', 'instances', ...ways.grpc, '--concurrency', '2:4');
    expect(outcome.code, outcome.stderr).toBe(0);
    const finished = (await recordsOf(output)).filter((record) => record.type === 'trial-finished');
    const failures = finished.flatMap((record) => record.failure ?? []);
    expect(failures).toHaveLength(1);
    expect(failures[0]).toMatchObject({
      kind: 'out-of-memory',
      reason: expect.stringContaining('weights of a third instance'),
    });
    expect((await summaryOf(output)).counts.trials).toBe(3);
  });

  it('makes room for a full load that finds no memory, and has the model back after one that needs more than there is', async () => {
    const before = await client.modelConfig('two_at_most');
    const { output, outcome } = await tuneQuickly('two_at_most', 'batches', ...ways.grpc, '--concurrency', '2:4');
    expect(outcome.code, outcome.stderr).toBe(0);
    const finished = (await recordsOf(output)).filter((record) => record.type === 'trial-finished');
    // The original may be visited again between the others.
    const kinds = new Map(finished.map(({ trial, failure }) => [trial, failure?.kind ?? null]));
    expect([...kinds.values()].slice(0, 3)).toEqual([null, 'out-of-memory', null]);
    expect((await summaryOf(output)).restored?.verified).toBe(true);
    expect(compareConfigs(before, await client.modelConfig('two_at_most'))).toEqual([]);
    expect(await client.modelReady('two_at_most')).toBe(true);
  });

  it('tunes two servers as one, each of which does half of the work, and puts both back', async () => {
    const second = await startRealTriton(server.modelRepository, { loadModels: ['sleeper'] });
    const secondClient = connectGrpc(second.grpcUrl);
    try {
      const before = await secondClient.modelConfig('sleeper');
      const url = `${server.grpcUrl},${second.grpcUrl}`;
      const { output, outcome } = await tuneQuickly(
        'sleeper',
        'sleeper',
        '-u',
        url,
        '--concurrency',
        '8',
        '--max-trials',
        '1',
      );
      expect(outcome, outcome.stdout).toMatchObject({ code: 0, stderr: '' });
      const { best, baseline, restored } = await summaryOf(output);
      expect(restored?.verified).toBe(true);
      expect(best?.throughput.value).toBeGreaterThan(baseline?.throughput.value as number);
      for (const each of [client, secondClient])
        expect(compareConfigs(before, await each.modelConfig('sleeper'))).toEqual([]);
      const count = async (each: TritonClient): Promise<number> =>
        (await each.statistics('sleeper'))[0]?.success.count ?? 0;
      const [first, other] = [await count(client), await count(secondClient)];
      const profile = ['profile', '-m', 'sleeper', '-u', url, '--concurrency-range', '8', '--precision', '50'];
      expect((await runCli(profile)).code).toBe(0);
      const [sent, sentToOther] = [(await count(client)) - first, (await count(secondClient)) - other];
      expect(Math.min(sent, sentToOther)).toBeGreaterThan(0.6 * Math.max(sent, sentToOther));
    } finally {
      await secondClient.close();
      await second.stop();
    }
  });

  it('tunes a real network on ONNX Runtime, its thread count too', async () => {
    const { output, outcome } = await tuneQuickly('mlp_onnx', 'threads', ...ways.grpc, '--concurrency', '4:8');
    expect(outcome, outcome.stderr).toMatchObject({ code: 0, stderr: '' });
    expect(await failuresIn(output)).toEqual([]);
    const summary = await summaryOf(output);
    expect(summary.best?.throughput.value).toBeGreaterThan(0);
  });
});
