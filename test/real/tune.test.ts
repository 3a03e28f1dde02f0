import { cp, mkdir, mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, inject, it } from 'vitest';
import { compareConfigs } from '../../src/triton/config-comparison.ts';
import { connectGrpc } from '../../src/triton/connect.ts';
import { freshDirectory, recordsOf, runCli, summaryOf } from '../support/cli.ts';
import { startRealTriton } from '../support/real-triton.ts';
import { instancesSpaceFile, sleeperSpaceFile } from './spaces.ts';

const server = inject('realServer');
const client = connectGrpc(server.grpcUrl);
afterAll(() => client.close());

const urls = {
  grpc: ['-u', server.grpcUrl, '-i', 'grpc'],
  http: ['-u', server.httpUrl, '-i', 'http', '--control-url', server.grpcUrl],
  'http, control over HTTP too': ['-u', server.httpUrl, '-i', 'http'],
} as const;

const tuneSleeper = async (...more: string[]) => {
  const output = await freshDirectory();
  const args = [
    'tune',
    '-m',
    'sleeper',
    '--space',
    await sleeperSpaceFile(),
    '--latency-budget',
    '25',
    '--concurrency',
    '1:32',
  ];
  const outcome = await runCli([...args, '--metrics-url', server.metricsUrl, '-o', output, ...more]);
  return { output, outcome };
};

describe('tune on a real Triton', () => {
  it.each(Object.keys(urls) as (keyof typeof urls)[])(
    'beats the original config over %s and puts it back',
    async (way) => {
      const before = await client.modelConfig('sleeper');
      const { output, outcome } = await tuneSleeper(...urls[way], '--sampler', 'grid', '--max-trials', '2');
      expect(outcome).toMatchObject({ code: 0, stderr: '' });
      const summary = await summaryOf(output);
      expect(summary).toMatchObject({
        model: 'sleeper',
        server: { name: 'triton', version: '2.51.0' },
        feasible: true,
      });
      expect(summary.emulated).toBeNull();
      expect(summary.best?.throughput.value).toBeGreaterThan(summary.baseline?.throughput.value as number);
      expect(summary.gain?.ratio).toBeGreaterThan(1.2);
      expect(summary.best?.budgetLatencyMs.value).toBeLessThanOrEqual(25);
      expect(compareConfigs(before, await client.modelConfig('sleeper'))).toEqual([]);
      expect(summary.restored?.verified).toBe(true);
      const measured = (await recordsOf(output)).filter((record) => record.type === 'trial-measured');
      expect(measured.every((record) => (record.measurement.server?.executionCount ?? 0) > 0)).toBe(true);
    },
  );

  it('reads each override back as it was sent', async () => {
    const { output } = await tuneSleeper(...urls.grpc, '--sampler', 'grid', '--max-trials', '2');
    const applied = (await recordsOf(output)).filter((record) => record.type === 'trial-applied');
    expect(applied.map((record) => record.change)).toEqual(expect.arrayContaining(['none', 'full']));
  });

  it('takes a refused load for a failed trial, prunes what must fail too, and goes on', async () => {
    const output = await freshDirectory();
    const outcome = await runCli([
      'tune',
      '-m',
      'two_at_most',
      ...urls.grpc,
      '--space',
      await instancesSpaceFile(),
      '--sampler',
      'grid',
      '--concurrency',
      '1:8',
      '-o',
      output,
    ]);
    expect(outcome.code).toBe(0);
    const finished = (await recordsOf(output)).filter((record) => record.type === 'trial-finished');
    const failures = finished.flatMap((record) => record.failure ?? []);
    expect(failures).toHaveLength(1);
    expect(failures[0]).toMatchObject({
      kind: 'out-of-memory',
      reason: expect.stringContaining('weights of a third instance'),
    });
    expect((await summaryOf(output)).counts.trials).toBe(3);
  });

  it('emits a config.pbtxt that a fresh repository loads', async () => {
    const { output } = await tuneSleeper(...urls.grpc, '--sampler', 'grid', '--max-trials', '1');
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

  it('tunes a real network on ONNX Runtime', async () => {
    const output = await freshDirectory();
    const args = [
      'tune',
      '-m',
      'mlp_onnx',
      ...urls.grpc,
      '--max-trials',
      '2',
      '--concurrency',
      '1:16',
      '--latency-budget',
      '50',
    ];
    const outcome = await runCli([...args, '-o', output]);
    expect([0, 3]).toContain(outcome.code);
    expect((await summaryOf(output)).best?.throughput.value).toBeGreaterThan(0);
  });
});
