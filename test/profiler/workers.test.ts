import { join } from 'node:path';
import type { WorkerOptions } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';
import { realClock } from '#base/clock.ts';
import { knowsThreadCpu } from '#loadgen/client/cost.ts';
import type { SendOrder } from '#loadgen/sender.ts';
import { openTransport } from '#loadgen/transports/open.ts';
import type { InferRequest, RequestSet } from '#loadgen/types.ts';
import type { InferTransport } from '#loadgen/workers/messages.ts';
import { openWorkers } from '#loadgen/workers/open-workers.ts';
import type { LevelOptions } from '#profiler/level-options.ts';
import { measureLevel } from '#profiler/measure-level.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { httpEcho } from '../support/echo-servers.ts';
import { startGrpcServer } from '../support/infer-servers.ts';
import { refusingUrl } from '../support/misbehaving-server.ts';

const raw = Uint8Array.of(1, 2, 3, 4);
const about = { model: 'm', version: '', batch: 1 };
const request: InferRequest = { ...about, inputs: [{ name: 'IN', datatype: 'UINT8', shape: [1, 4], raw }] };
const setOf = (change: Partial<InferRequest> = {}): RequestSet => ({ ...about, requests: [{ ...request, ...change }] });

const THREADS = 2;
const dyingThread = join(import.meta.dirname, '../support/dying-thread.ts');
const blockingThread = join(import.meta.dirname, '../support/blocking-thread.ts');

interface Measured {
  readonly transport: InferTransport;
  readonly change?: Partial<LevelOptions>;
  readonly worker?: WorkerOptions;
}

/** Measures with two threads. The server has no statistics. */
function measure({ transport, change, worker }: Measured): Promise<Measurement> {
  const workers = openWorkers(THREADS, transport, worker);
  const unused = openTransport(transport.protocol, transport.options);
  onTestFinished(async () => {
    await workers.close();
    await unused.close();
  });
  return measureLevel({
    transport: unused,
    openFlow: (order: SendOrder) => workers.openFlow(order),
    watchClient: workers.watchClient,
    requests: setOf(),
    level: { mode: 'concurrency', value: 3 },
    stats: { statistics: () => Promise.reject(new Error('none')) },
    clock: realClock,
    signal: new AbortController().signal,
    percentile: 90,
    precision: 0.5,
    windows: { minWindowMs: 60, minWindows: 2, maxWindows: 3, minRequests: 10, maxWarmUpMs: 1000 },
    drainMs: 2000,
    ...change,
  });
}

async function grpcForTest() {
  const server = await startGrpcServer();
  onTestFinished(() => server.close());
  return server;
}

const plain = (url: string): InferTransport => ({ protocol: 'grpc', options: { url, timeoutMs: 5000 } });

describe('a level that several threads send', () => {
  it('is measured as one of one thread is', async () => {
    const server = await grpcForTest();
    const measurement = await measure({ transport: plain(server.url) });
    expect(measurement).toMatchObject({ errorRate: 0, failures: [], client: { bound: expect.any(Boolean) } });
    expect(measurement.requests).toBeLessThanOrEqual(server.received.length);
    const { throughput, latencyMs, durationMs, requests, windows } = measurement;
    expect((throughput.value * durationMs) / 1000 / requests).toBeCloseTo(1, 1);
    const littlesLaw = (throughput.value * latencyMs.avg) / 1000;
    expect(littlesLaw).toBeGreaterThan(1.5);
    // Three in flight, and in each window the time that its first requests had waited before it.
    expect(littlesLaw).toBeLessThan(3.1 + (3 * windows * latencyMs.max) / durationMs);
    expect(measurement.client.cpuUsPerRequest).toBeGreaterThan(0);
  });

  it('is measured at a request rate', async () => {
    const server = await grpcForTest();
    const level = { mode: 'request-rate', value: 300 } as const;
    // Long enough that what a busy machine holds up and sends later does not show in the rate.
    const windows = { minWindowMs: 300, minWindows: 3, maxWindows: 3 };
    const measurement = await measure({ transport: plain(server.url), change: { level, windows } });
    const { achievedRate = 0, droppedSends } = measurement.openLoop ?? {};
    expect(achievedRate / 300).toBeGreaterThan(0.8);
    expect(achievedRate / 300).toBeLessThan(1.2);
    expect(droppedSends).toBe(0);
    expect(measurement.throughput.value / 300).toBeGreaterThan(0.8);
  }, 180_000);

  it.each([7, 60, 63])(
    'is exactly %i requests where so many are asked for, after others to warm up',
    async (requests) => {
      const server = await grpcForTest();
      const change: Partial<LevelOptions> = { stability: { kind: 'request-count', requests }, warmUpRequests: 41 };
      const measurement = await measure({ transport: plain(server.url), change });
      expect(measurement).toMatchObject({ requests, errorRate: 0, windows: 1 });
      expect(server.received).toHaveLength(requests + 41);
    },
  );

  it('checks replies in the threads, by the tolerance', async () => {
    const { url } = await httpEcho(1);
    const expected = [[{ name: 'IN', datatype: 'UINT8', raw }]];
    const transport = { protocol: 'http', options: { url, timeoutMs: 5000 }, tolerance: 0 } as const;
    const { failures, errorRate } = await measure({ transport, change: { requests: setOf({ expected }) } });
    expect(errorRate).toBe(1);
    expect(failures[0]).toMatchObject({ kind: 'mismatch', firstMessage: expect.stringMatching(/IN.*4 of 4 values/) });
  });

  it('ends when more requests fail than are to be borne', async () => {
    const server = await grpcForTest();
    server.replyWith({ kind: 'status', code: 3, message: 'broken model' });
    const measurement = await measure({ transport: plain(server.url), change: { maxErrors: 2 } });
    expect(measurement).toMatchObject({ tooManyErrors: true, stable: false, errorRate: 1 });
    expect(measurement.failures[0]).toMatchObject({ kind: 'status', firstMessage: 'broken model' });
    expect(measurement.failures[0]?.count).toBeGreaterThan(2);
  });

  it('ends with SERVER_UNREACHABLE when no thread reaches the server', async () => {
    const transport = plain(await refusingUrl());
    await expect(measure({ transport, change: { unreachableMs: 300 } })).rejects.toMatchObject({
      code: 'SERVER_UNREACHABLE',
    });
  });
});

describe('a thread that is held up', () => {
  const execArgv = ['--import', blockingThread];
  const windows = {
    minWindowMs: 150,
    minWindows: 2,
    maxWindows: 3,
    maxVoidWindows: 3,
    minRequests: 10,
    maxWarmUpMs: 1000,
  };

  it('says so, and its windows are measured again until they count as they are', async () => {
    const server = await grpcForTest();
    const change: Partial<LevelOptions> = { windows, percentile: 99.9 };
    const measurement = await measure({ transport: plain(server.url), change, worker: { execArgv } });
    expect(measurement.voidWindows).toBe(3);
    expect(measurement.client.tailShiftMs).toBeGreaterThan(1);
    expect(measurement.client.bound).toBe(false);
  });
});

it('tells what sending cost, and what the process took beside it', async () => {
  const server = await grpcForTest();
  const { client } = await measure({ transport: plain(server.url) });
  expect(client.cpuUsPerRequest).toBeGreaterThan(0);
  expect(client.gcMs).toBeGreaterThanOrEqual(0);
  // The server of the test is in this process.
  if (knowsThreadCpu) expect(client.besideCpuShare).toBeGreaterThan(0);
  else expect(client.besideCpuShare).toBeUndefined();
});

describe('a thread that cannot go on ends the measurement', () => {
  it('with the error of its own work', async () => {
    const inputs = [{ name: 'IN', datatype: 'FP16', shape: [1, 2], raw }];
    const options = { url: 'localhost:1', timeoutMs: 5000, tensorFormat: 'json' } as const;
    const transport = { protocol: 'http', options } as const;
    await expect(measure({ transport, change: { requests: setOf({ inputs }) } })).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringMatching(/FP16/),
      hint: expect.stringMatching(/binary/),
    });
  });

  it.each([
    ['exit', /exit code 7/],
    ['throw', /a defect/],
    ['run out of memory', /memory/],
  ])('with CLIENT_FAILED: %s', async (death, reason) => {
    const server = await grpcForTest();
    const worker: WorkerOptions = {
      execArgv: ['--import', dyingThread],
      env: { ...process.env, TRITUNE_TEST_DEATH: death },
      resourceLimits: { maxOldGenerationSizeMb: 60 },
    };
    const change = { windows: { minWindows: 1000, maxWindows: 1000 } };
    await expect(measure({ transport: plain(server.url), change, worker })).rejects.toMatchObject({
      code: 'CLIENT_FAILED',
      message: expect.stringMatching(reason),
      hint: expect.stringMatching(/--client-threads/),
    });
  });
});
