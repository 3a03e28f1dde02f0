import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, inject, it } from 'vitest';
import { freePorts } from '../../src/launch/free-ports.ts';
import type { LaunchedServer } from '../../src/launch/types.ts';
import type { StudyRecord } from '../../src/study/records.ts';
import { compareConfigs } from '../../src/triton/config-comparison.ts';
import { connectGrpc } from '../../src/triton/connect.ts';
import type { ModelConfig } from '../../src/triton/model-config.ts';
import { freshDirectory, recordsOf, runCli, startCli, untilRecorded } from '../support/cli.ts';
import { killTriton } from '../support/kill-triton.ts';
import { startRealTriton } from '../support/real-triton.ts';

const { modelRepository } = inject('realServer');
const [grpc, http, metrics] = (await freePorts(3)) as [number, number, number];
let server: LaunchedServer | null = null;
afterAll(() => server?.stop());

/** The server of these tests, always on the same ports. */
const start = async (): Promise<LaunchedServer> => {
  server = await startRealTriton(modelRepository, { loadModels: ['sleeper'], ports: { grpc, http, metrics } });
  return server;
};

const SPACE = `
name: faults
parameters:
  instance_kind: [KIND_CPU, KIND_GPU]
  max_batch_size: [16, 8, 4, 2]
`;
/** Refused; killed while it loads, and while it is measured; killed for good. */
const CANDIDATES = [
  { instance_kind: 'KIND_GPU', max_batch_size: 16 },
  { instance_kind: 'KIND_CPU', max_batch_size: 8 },
  { instance_kind: 'KIND_CPU', max_batch_size: 4 },
  { instance_kind: 'KIND_CPU', max_batch_size: 2 },
];

async function servedConfig(): Promise<ModelConfig> {
  const client = connectGrpc(`127.0.0.1:${grpc}`);
  try {
    return await client.modelConfig('sleeper');
  } finally {
    await client.close();
  }
}

it('outlasts a real server that refuses, dies and comes back, and stops in order when it dies for good', async () => {
  const { grpcUrl, metricsUrl } = await start();
  const original = await servedConfig();
  const directory = await freshDirectory();
  const [space, candidates, output] = ['space.yaml', 'candidates.json', 'run'].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ];
  await mkdir(output);
  await writeFile(space, SPACE);
  await writeFile(candidates, JSON.stringify(CANDIDATES));
  const run = startCli([
    ...['tune', '-m', 'sleeper', '-u', grpcUrl, '--metrics-url', metricsUrl, '-o', output],
    ...['--sampler', 'manual', '--space', space, '--candidates', candidates],
    ...['--concurrency', '4:4', '--precision', '10', '--load-timeout', '30s', '--max-outage', '12s'],
  ]);

  const untilTrial = (step: StudyRecord['type'], trial: number) =>
    untilRecorded(output, run, ({ type, ...record }) => type === step && 'trial' in record && record.trial === trial);
  await untilTrial('trial-started', 2);
  await sleep(300);
  await killTriton(grpcUrl);
  await start();
  await untilTrial('trial-applied', 3);
  await sleep(1_000);
  await killTriton(grpcUrl);
  await start();
  await untilTrial('trial-started', 4);
  await sleep(300);
  await killTriton(grpcUrl);

  const outcome = await run.ended;
  expect(outcome).toMatchObject({
    code: 4,
    stderr: expect.stringMatching(/^tritune: RESTORE_FAILED: .*SERVER_UNREACHABLE.*tritune restore[^\n]*\n$/),
  });
  expect(outcome.stdout.trim().split('\n').at(-1)).toMatch(/^model +NOT as it was: .*could not be put back/);
  const records = await recordsOf(output);
  expect(records.flatMap((record) => (record.type === 'trial-finished' ? [record.failure?.kind ?? null] : []))).toEqual(
    [null, 'no-gpu', null, null, 'server-lost'],
  );
  const measured = records.filter((record) => record.type === 'trial-measured');
  expect(measured.map(({ trial }) => trial)).toEqual([0, 2, 3]);
  for (const { measurement } of measured) {
    // 2.05 ms for each request, one after the other.
    expect(measurement.throughput.value).toBeGreaterThan(0);
    expect(measurement.throughput.value).toBeLessThan(1e3 / 2.05);
    expect(measurement.errorRate).toBe(0);
    expect(measurement.server?.executionCount).toBeGreaterThan(0);
  }

  await start();
  expect(await runCli(['restore', output])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('original config'),
  });
  expect(compareConfigs(original, await servedConfig())).toEqual([]);
});
