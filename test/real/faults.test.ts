import { cp, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, inject, it } from 'vitest';
import { freePorts } from '#launch/free-ports.ts';
import type { LaunchedServer } from '#launch/types.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { compareConfigs } from '#triton/config/comparison.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { runCli, startCli, untilRecorded } from '../support/cli.ts';
import { killTriton } from '../support/kill-triton.ts';
import { startRealTriton } from '../support/real-triton.ts';
import { freshDirectory, recordsOf } from '../support/run-directory.ts';

/** Of these tests alone: they delete from it. */
const modelRepository = await freshDirectory();
await cp(join(inject('realServer').modelRepository, 'sleeper'), join(modelRepository, 'sleeper'), { recursive: true });
const [grpc, http, metrics] = (await freePorts(3)) as [number, number, number];
let server: LaunchedServer | null = null;
afterAll(async () => {
  await server?.stop();
  await rm(modelRepository, { recursive: true });
});

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

/** A run over the candidates, and where it writes. */
async function startRun({ grpcUrl, metricsUrl }: LaunchedServer, ...more: string[]) {
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
    ...['--concurrency', '4:4', '--load-timeout', '30s', ...more],
  ]);
  const untilTrial = (step: StudyRecord['type'], trial: number) =>
    untilRecorded(output, run, ({ type, ...record }) => type === step && 'trial' in record && record.trial === trial);
  return { output, run, untilTrial };
}

/** Of each trial, once: a machine that changes its speed has the original config measured again. */
function failuresIn(records: readonly StudyRecord[]): readonly (string | null)[] {
  const finished = records.filter((record) => record.type === 'trial-finished');
  return [...new Map(finished.map(({ trial, failure }) => [trial, failure?.kind ?? null])).values()];
}

async function expectRestored(output: string, original: ModelConfig): Promise<void> {
  expect(await runCli(['restore', output])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('original config'),
  });
  expect(compareConfigs(original, await servedConfig())).toEqual([]);
}

async function servedConfig(): Promise<ModelConfig> {
  const client = connectGrpc(`127.0.0.1:${grpc}`);
  try {
    return await client.modelConfig('sleeper');
  } finally {
    await client.close();
  }
}

it('outlasts a real server that refuses, dies and comes back, and stops in order when it dies for good', async () => {
  const first = await start();
  const { grpcUrl } = first;
  const original = await servedConfig();
  const { output, run, untilTrial } = await startRun(first, '--precision', '10', '--max-outage', '12s');
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
    stderr: expect.stringMatching(/^tritune: RESTORE_FAILED: .*SERVER_UNREACHABLE.* restore \S+`\)\n$/),
  });
  expect(outcome.stdout.trim().split('\n').at(-1)).toMatch(/^model +NOT as it was: .*could not be put back/);
  const records = await recordsOf(output);
  expect(failuresIn(records)).toEqual([null, 'no-gpu', null, null, 'server-lost']);
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
  await expectRestored(output, original);
});

it('waits for a real server that is restarted in order, which costs no candidate', async () => {
  const { output, run, untilTrial } = await startRun(
    server as LaunchedServer,
    '--precision',
    '25',
    '--max-outage',
    '20s',
  );
  await untilTrial('trial-applied', 3);
  await sleep(500);
  await server?.stop();
  await start();
  expect(await run.ended).toMatchObject({ code: 0 });
  const records = await recordsOf(output);
  expect(failuresIn(records)).toEqual([null, 'no-gpu', null, null, null]);
  // A restart that no request meets is seen by the config that came back with the server. A final
  // applies it again.
  const search = records.slice(
    0,
    records.findIndex((record) => record.type === 'trial-finished' && record.trial === 3),
  );
  expect(search.filter((record) => record.type === 'trial-applied' && record.trial === 3)).toHaveLength(2);
});

it('stops in order when the model is deleted from the repository, which serves on, and puts it back when it is there again', async () => {
  const original = await servedConfig();
  const quick = ['--precision', '25', '--max-outage', '1s'];
  const { output, run, untilTrial } = await startRun(server as LaunchedServer, ...quick);
  const [stored, elsewhere] = [join(modelRepository, 'sleeper'), join(output, 'sleeper')];
  await untilTrial('trial-applied', 2);
  await rename(stored, elsewhere);
  const outcome = await run.ended;
  expect(outcome).toMatchObject({
    code: 4,
    stderr: expect.stringMatching(
      /^tritune: RESTORE_FAILED: .*has no model 'sleeper'.*back into its repository[^\n]*\n$/,
    ),
  });
  expect(outcome.stdout.trim().split('\n').at(-1)).toMatch(/^model +NOT as it was: .*has no model 'sleeper'/);
  const failures = failuresIn(await recordsOf(output));
  expect(failures).toEqual([null, 'no-gpu', null, 'requests-failed', 'requests-failed']);
  expect((await servedConfig()).max_batch_size).toBe(8);
  await rename(elsewhere, stored);
  await expectRestored(output, original);
});
