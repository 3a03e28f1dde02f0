import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LaunchedServer } from '#launch/types.ts';
import type { TraceSummary } from '#profiler/trace-summary.ts';
import { connectGrpc, connectHttp } from '#triton/control/connect.ts';
import type { TritonClient } from '#triton/types.ts';
import { blsCallsSuite } from '../support/bls-calls-suite.ts';
import { runCli } from '../support/cli.ts';
import { cacheWithTriton, makeModelRepository, startRealTriton } from '../support/real-triton.ts';

let server: LaunchedServer;
let clients: readonly TritonClient[];
let repository: string;
let traceFile: string;

/** Two steps of the same model, so that a request has parts. */
const chain = `platform: "ensemble"
max_batch_size: 16
input [ { name: "INPUT" data_type: TYPE_FP32 dims: [ 8 ] } ]
output [ { name: "OUTPUT" data_type: TYPE_FP32 dims: [ 8 ] } ]
ensemble_scheduling { step [
  { model_name: "sleeper" model_version: -1 input_map { key: "INPUT" value: "INPUT" } output_map { key: "OUTPUT" value: "half" } },
  { model_name: "sleeper" model_version: -1 input_map { key: "INPUT" value: "half" } output_map { key: "OUTPUT" value: "OUTPUT" } }
] }`;

beforeAll(async () => {
  repository = await makeModelRepository();
  await mkdir(join(repository, 'chain', '1'), { recursive: true });
  await writeFile(join(repository, 'chain', 'config.pbtxt'), chain);
  traceFile = join(repository, '..', `${basename(repository)}-trace.json`);
  // Without a file of its own a server refuses to trace.
  const extraArgs = [`--trace-config=triton,file=${traceFile}`];
  const loadModels = ['sleeper', 'chain', 'find_and_name', 'detector', 'classifier'];
  server = await startRealTriton(repository, { loadModels, extraArgs });
  clients = [connectGrpc(server.grpcUrl), connectHttp(server.httpUrl)];
});
afterAll(async () => {
  for (const client of clients) await client.close();
  await server.stop();
});

describe('the trace settings of a real Triton', () => {
  it('are read and changed alike over both protocols', async () => {
    const [grpc, http] = clients as [TritonClient, TritonClient];
    const before = await grpc.traceSettings();
    expect(await http.traceSettings()).toEqual(before);
    expect(before).toMatchObject({ trace_level: ['OFF'], trace_rate: ['1000'], trace_count: ['-1'] });
    for (const [one, other] of [
      [grpc, http],
      [http, grpc],
    ] as const) {
      const changed = await one.changeTraceSettings({ trace_level: ['TIMESTAMPS'], trace_rate: ['7'] });
      expect(changed).toEqual({ ...before, trace_level: ['TIMESTAMPS'], trace_rate: ['7'] });
      expect(await other.traceSettings()).toEqual(changed);
      await other.changeTraceSettings({ trace_level: ['OFF'], trace_rate: ['1000'] });
      expect(await one.traceSettings()).toEqual(before);
    }
  });

  it('are what profile asks for while it runs, and as they were when it is over', async () => {
    const [grpc] = clients as [TritonClient];
    const before = await grpc.traceSettings();
    const running = runCli([
      ...['profile', '-m', 'sleeper', '-u', server.httpUrl, '-p', '300', '-s', '900'],
      ...['--trace-level', 'TIMESTAMPS', '--trace-rate', '50'],
    ]);
    await expect
      .poll(() => grpc.traceSettings(), { timeout: 20_000, interval: 20 })
      .toMatchObject({ trace_level: ['TIMESTAMPS'], trace_rate: ['50'] });
    expect((await running).code).toBe(0);
    expect(await grpc.traceSettings()).toEqual(before);
  });
});

describe('the calls of a BLS model that passes the trace on', () => {
  const called = ['classifier', 'detector'];
  blsCallsSuite(async () => ({
    url: server.httpUrl,
    client: clients[1] as TritonClient,
    front: 'find_and_name',
    called,
    from: 'traces',
  }));
});

describe('what a real Triton writes', () => {
  it('is summarised by trace: every request, its parts, and the time of each', async () => {
    const [grpc] = clients as [TritonClient];
    const { trace_level = [], trace_rate = [] } = await grpc.traceSettings();
    await grpc.changeTraceSettings({ trace_level: ['TIMESTAMPS'], trace_rate: ['1'] });
    const profile = ['profile', '-m', 'chain', '--concurrency-range', '2', '--request-count', '10', '-p', '300'];
    expect((await runCli([...profile, '-u', server.grpcUrl, '-i', 'grpc'])).code).toBe(0);
    expect((await runCli([...profile, '-u', server.httpUrl])).code).toBe(0);
    // The change makes the server write what it holds; the file stays open, without its end.
    await grpc.changeTraceSettings({ trace_level, trace_rate });
    const { stdout, stderr } = await runCli(['trace', traceFile, '--json', '--verbose']);
    expect(stderr).toBe('');
    const { groups, requests, unfinished } = JSON.parse(stdout) as TraceSummary;
    expect(unfinished).toEqual([traceFile]);
    for (const kind of ['grpc', 'http']) {
      const own = groups.filter((group) => group.kind === kind && group.models[0] === 'chain');
      const [whole, parts] = own.sort((a, b) => a.models.length - b.models.length);
      expect(whole?.requests).toBeGreaterThanOrEqual(10);
      expect(parts).toMatchObject({ models: ['chain', 'sleeper'], requests: 2 * (whole?.requests ?? 0) });
      // The model sleeps for 2 ms, twice a request.
      expect(parts?.spans.computeInfer?.avgUs).toBeGreaterThan(2000);
      expect(whole?.spans.request?.avgUs).toBeGreaterThan(4000);
      expect(whole?.spans.total?.count).toBe(whole?.requests);
    }
    const part = requests.find(({ models }) => models.length === 2)?.spansUs;
    const within = ['computeInput', 'computeInfer', 'computeOutput'] as const;
    expect(within.reduce((sum, name) => sum + (part?.[name] ?? 0), 0)).toBeCloseTo(part?.compute ?? 0, 3);
  });

  it('is what tune --trace shows of a server of its own', { timeout: 300_000 }, async () => {
    const output = await mkdtemp(join(tmpdir(), 'tritune-traced-'));
    const args = [
      ...['tune', '-m', 'sleeper', '--launch', 'local', '--model-repository', repository, '--trace', '-o', output],
      ...['--concurrency', '2:2', '--max-trials', '1', '--precision', '20', '--time-budget', '40s'],
    ];
    const { code, stderr } = await runCli(args, { env: { XDG_CACHE_HOME: await cacheWithTriton() } });
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('server/trace.json:\n') });
    expect(stderr).toMatch(/\ngrpc sleeper \(version 1\): [1-9]\d* requests\n/);
    expect(stderr).toMatch(/\n {6}queue /);
  });
});
