import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { realClock } from '#base/clock.ts';
import type { Batch } from '#loadgen/recorder.ts';
import type { SendOrder } from '#loadgen/sender.ts';
import type { InferRequest, RequestSet } from '#loadgen/types.ts';
import type { WorkerTransport } from '#loadgen/workers/messages.ts';
import { openWorkers } from '#loadgen/workers/open-workers.ts';
import type { Workers } from '#loadgen/workers/workers.ts';
import { newAuthority, trusting } from '../support/certificates.ts';
import { type InferServer, startGrpcServer, startHttpServer } from '../support/infer-servers.ts';
import { until } from '../support/transport-suite.ts';

const THREADS = 3;
const rule = { lengthNs: 40e6, minRequests: 1 };

const requestOf = (value: number): InferRequest => ({
  model: 'm',
  version: '',
  batch: 1,
  inputs: [{ name: 'IN', datatype: 'UINT8', shape: [1, 1], raw: Uint8Array.of(value) }],
});
const setOf = (...values: number[]): RequestSet => ({
  model: 'm',
  version: '',
  batch: 1,
  requests: values.map(requestOf),
});

const plain = (protocol: 'grpc' | 'http', url: string): WorkerTransport => ({
  protocol,
  options: { url, timeoutMs: 10_000 },
});

const concurrency = (value: number, requests = setOf(1)): SendOrder => ({
  requests,
  level: { mode: 'concurrency', value },
});

describe.each(['grpc', 'http'] as const)('threads that send together over %s', (protocol) => {
  let server: InferServer;
  let workers: Workers;
  beforeAll(async () => {
    server = protocol === 'grpc' ? await startGrpcServer() : await startHttpServer();
    workers = openWorkers(THREADS, plain(protocol, server.url));
  });
  afterAll(async () => {
    await workers.close();
    await server.close();
  });

  it('merge what each counted', async () => {
    const before = server.received.length;
    const flow = workers.openFlow(concurrency(10, setOf(1, 2, 3)));
    const batches: Batch[] = [];
    flow.record(rule, (batch) => batches.push(batch));
    flow.start();
    await until(() => batches.length >= 3);
    expect(await flow.drain(5000)).toBe(0);
    await flow.closeBatch();
    const counted = batches.reduce((sum, batch) => sum + batch.succeeded, 0);
    expect(batches.every(({ latencies, succeeded, failed }) => latencies.count === succeeded && failed === 0)).toBe(
      true,
    );
    // Each thread's first completion opens its first batch and is not in it.
    expect([counted, server.received.length - before]).toEqual([flow.sent - THREADS, flow.sent]);
    for (const [index, batch] of batches.entries()) {
      expect(batch.endNs).toBeGreaterThan(batch.startNs);
      if (index > 0) expect(batch.startNs).toBe(batches[index - 1]?.endNs);
    }
    expect([flow.failedSoFar, flow.unserved, flow.due]).toEqual([0, null, null]);
    expect(batches.every(({ heldUp }) => heldUp === undefined)).toBe(true);
  });

  it('say while they send how many they have sent, and what held them up, if they are to look', async () => {
    const flow = workers.openFlow(concurrency(4));
    const batches: Batch[] = [];
    flow.record({ ...rule, watchEveryNs: 1e6 }, (batch) => batches.push(batch));
    flow.start();
    await until(() => batches.length >= 3);
    const sentMeanwhile = flow.sent;
    // While the last replies come nobody looks.
    const watched = [...batches];
    expect(await flow.drain(5000)).toBe(0);
    expect(sentMeanwhile).toBeGreaterThan(0);
    expect(sentMeanwhile).toBeLessThanOrEqual(flow.sent);
    for (const { heldUp, startNs, endNs } of watched) {
      expect(heldUp?.threads).toBe(THREADS);
      for (const pause of heldUp?.pauses ?? []) {
        expect(pause.lengthNs).toBeGreaterThan(0);
        expect(pause.gcNs).toBeLessThanOrEqual(pause.lengthNs);
        // On the clock of whoever asked: not seconds from the batch that it is told with.
        expect(Math.abs(pause.startNs - startNs)).toBeLessThan(endNs - startNs + 5e9);
      }
    }
  });

  it('send the whole schedule of a rate, each request of the row as often as one thread would', async () => {
    const before = server.received.length;
    const flow = workers.openFlow({
      requests: setOf(7, 8, 9, 10),
      level: { mode: 'request-rate', value: 600 },
      schedule: { kind: 'poisson', perSecond: 600, seed: 4 },
      mostRequests: 202,
    });
    const batches: Batch[] = [];
    flow.record({ lengthNs: 50e6, minRequests: 1 }, (batch) => batches.push(batch), realClock.nowNs());
    flow.start();
    await until(() => server.received.length - before >= 202);
    expect(await flow.drain(5000)).toBe(0);
    await flow.closeBatch();
    const tally = await flow.takeTally();
    expect([server.received.length - before, flow.sent, flow.due, tally?.sent]).toEqual([202, 202, 202, 202]);
    expect([tally?.dropped, tally?.lateness.count]).toEqual([0, 202]);
    expect(batches.reduce((sum, { fromDue }) => sum + (fromDue?.count ?? 0), 0)).toBe(202);
    const timesSent = [7, 8, 9, 10].map(
      (value) => server.received.slice(before).filter(({ tensors }) => tensors[0] === value).length,
    );
    expect(timesSent).toEqual([51, 51, 50, 50]);
  });

  it('keep exactly the level in flight, and count every request once', async () => {
    const before = server.received.length;
    server.replyWith({ kind: 'silence' });
    const held = workers.openFlow(concurrency(10));
    held.start();
    await until(() => server.received.length - before >= 10);
    await realClock.sleep(30);
    expect(server.received.length - before).toBe(10);
    expect(await held.drain(1)).toBe(10);
    expect([held.sent, held.mostInFlight]).toEqual([10, 10]);
  });
});

it('threads speak TLS with the certificates that they are given', async () => {
  const authority = await newAuthority();
  const server = await startGrpcServer({}, 0, await authority.serverFor(['127.0.0.1']));
  const own = await authority.client();
  const tls = trusting(authority, { cert: Buffer.from(own.cert), key: Buffer.from(own.key) });
  const workers = openWorkers(2, { protocol: 'grpc', options: { url: server.url, timeoutMs: 5000, tls } });
  try {
    const flow = workers.openFlow(concurrency(4));
    flow.record(rule, () => undefined);
    flow.start();
    await until(() => server.received.length > 20);
    expect(await flow.drain(5000)).toBe(0);
    expect(flow.failedSoFar).toBe(0);
  } finally {
    await workers.close();
    await server.close();
  }
});
