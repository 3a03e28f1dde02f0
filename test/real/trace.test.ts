import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LaunchedServer } from '../../src/launch/types.ts';
import { connectGrpc, connectHttp } from '../../src/triton/connect.ts';
import type { TritonClient } from '../../src/triton/types.ts';
import { runCli } from '../support/cli.ts';
import { makeModelRepository, startRealTriton } from '../support/real-triton.ts';

let server: LaunchedServer;
let clients: readonly TritonClient[];

beforeAll(async () => {
  const repository = await makeModelRepository();
  // Without a file of its own a server refuses to trace.
  const extraArgs = [`--trace-config=triton,file=${join(repository, '..', `${basename(repository)}-trace.json`)}`];
  server = await startRealTriton(repository, { loadModels: ['sleeper'], extraArgs });
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
