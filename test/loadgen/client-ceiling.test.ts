import { describe, expect, it, onTestFinished } from 'vitest';
import { type NullRuns, type NullTraffic, nullRuns } from '#loadgen/client/ceiling.ts';
import { startNullServer } from '#loadgen/client/null-server.ts';
import { openTransport } from '#loadgen/transports/open.ts';
import type { RequestSet, SendOutcome } from '#loadgen/types.ts';
import type { InferTransport } from '#loadgen/workers/messages.ts';
import { openWorkers } from '#loadgen/workers/open-workers.ts';
import { startGrpcServer } from '../support/infer-servers.ts';
import { until } from '../support/transport-suite.ts';

const setOf = (floats: number): RequestSet => {
  const raw = new Uint8Array(4 * floats);
  const about = { model: 'm', version: '', batch: 1 };
  return { ...about, requests: [{ ...about, inputs: [{ name: 'IN', datatype: 'FP32', shape: [1, floats], raw }] }] };
};

type Kind = Pick<NullTraffic, 'sequences'> & Partial<InferTransport['options']>;

/** Runs of a thread whose own server is nobody. */
function runsOf(protocol: 'grpc' | 'http', requests: RequestSet, { sequences, ...kind }: Kind = {}): NullRuns {
  const workers = openWorkers(1, { protocol, options: { ...kind, url: 'localhost:1', timeoutMs: 2000 } });
  onTestFinished(() => workers.close());
  return nullRuns(workers, { protocol, requests, sequences, streaming: kind.streaming });
}

/**
 * The highest ceiling of two kinds of traffic over rounds in turn, until the first is that many
 * times the second, eight rounds at most: whatever else runs here slows some of the runs, and never
 * makes one faster.
 */
async function ceilingsInTurn(
  [first, second]: readonly [() => NullRuns, () => NullRuns],
  times: number,
): Promise<readonly [number, number]> {
  let best: readonly [number, number] = [0, 0];
  // A machine that stands still for a moment measures nothing.
  const isClear = (): boolean => best[1] > 0 && best[0] > times * best[1];
  for (let round = 0; round < 8 && !isClear(); round++) {
    const one = (await first().ceiling()) ?? 0;
    const other = (await second().ceiling()) ?? 0;
    best = [Math.max(best[0], one), Math.max(best[1], other)];
  }
  return best;
}

describe.each(['grpc', 'http'] as const)('a server that does nothing, over %s', (protocol) => {
  it('answers requests of any size, many at once on one connection or several', async () => {
    const server = await startNullServer(protocol);
    const transport = openTransport(protocol, { url: server.url, timeoutMs: 10_000 });
    try {
      const outcomes: SendOutcome[] = [];
      for (const floats of [1, 1000, 250_000]) {
        const prepared = transport.prepare(setOf(floats).requests[0] as RequestSet['requests'][number]);
        const sends = Array.from(
          { length: 40 },
          () => new Promise<SendOutcome>((done) => transport.send(prepared, done)),
        );
        outcomes.push(...(await Promise.all(sends)));
      }
      expect(outcomes).toHaveLength(120);
      expect(outcomes.filter((outcome) => !outcome.ok)).toEqual([]);
    } finally {
      await transport.close();
      await server.stop();
    }
  });

  it('gives the rate that this client cannot exceed, lower for requests that cost more', async () => {
    const kinds = [() => runsOf(protocol, setOf(16)), () => runsOf(protocol, setOf(100_000))] as const;
    const [small, large] = await ceilingsInTurn(kinds, 2);
    expect(large).toBeGreaterThan(0);
    expect(small).toBeGreaterThan(2 * large);
  }, 180_000);

  it('is measured once', () => {
    const runs = runsOf(protocol, setOf(16));
    expect(runs.ceiling()).toBe(runs.ceiling());
    return runs.ceiling();
  });
});

describe('a warm-up', () => {
  it('sends to the null server alone, and leaves the threads as they were', async () => {
    const server = await startGrpcServer();
    const workers = openWorkers(2, { protocol: 'grpc', options: { url: server.url, timeoutMs: 2000 } });
    onTestFinished(async () => {
      await workers.close();
      await server.close();
    });
    const requests = setOf(16);
    await nullRuns(workers, { protocol: 'grpc', requests }).warmUp();
    expect(server.received).toHaveLength(0);
    const flow = workers.openFlow({ requests, level: { mode: 'concurrency', value: 4 } });
    flow.start();
    await until(() => server.received.length > 20);
    expect(await flow.drain(5000)).toBe(0);
    expect([flow.failedSoFar, flow.sent]).toEqual([0, server.received.length]);
  });

  it('that cannot be is no error', async () => {
    const requests = setOf(16);
    const workers = openWorkers(1, { protocol: 'grpc', options: { url: 'localhost:1', timeoutMs: 2000 } });
    await workers.close();
    await expect(nullRuns(workers, { protocol: 'grpc', requests }).warmUp()).resolves.toBeUndefined();
  });
});

describe('the ceiling of other kinds of traffic', () => {
  const kinds: [string, 'grpc' | 'http', Kind][] = [
    ['streams', 'grpc', { streaming: true }],
    ['compressed streams', 'grpc', { streaming: true, compression: 'gzip' }],
    ['compression over gRPC', 'grpc', { compression: 'deflate' }],
    ['compression over HTTP', 'http', { compression: 'gzip' }],
    ['JSON', 'http', { tensorFormat: 'json' }],
    ['headers', 'http', { headers: [{ name: 'x-name', value: 'value' }] }],
    ['sequences', 'grpc', { sequences: { length: 5, variation: 0.2, ids: { low: 1, high: 1000 }, seed: 1 } }],
    [
      'few sequences on streams',
      'grpc',
      { streaming: true, sequences: { variation: 0, ids: { low: 1, high: 3 }, seed: 1 } },
    ],
  ];

  it.each(kinds)('is known: %s', async (_, protocol, kind) => {
    expect(await runsOf(protocol, setOf(16), kind).ceiling()).toBeGreaterThan(100);
  });

  it('is lower where each request is encoded anew', async () => {
    const sequences = { length: 5, variation: 0, ids: { low: 1, high: 1000 }, seed: 1 };
    const kinds = [() => runsOf('grpc', setOf(10_000)), () => runsOf('grpc', setOf(10_000), { sequences })] as const;
    const [plain, anew] = await ceilingsInTurn(kinds, 1.5);
    expect(anew).toBeGreaterThan(0);
    expect(plain).toBeGreaterThan(1.5 * anew);
  }, 180_000);
});

it('answers message after message on one stream, large ones too', async () => {
  const server = await startNullServer('grpc-stream');
  const transport = openTransport('grpc', { url: server.url, timeoutMs: 10_000, streaming: true });
  try {
    for (const floats of [1, 5000, 250_000, 2]) {
      const prepared = transport.prepare(setOf(floats).requests[0] as RequestSet['requests'][number]);
      for (let round = 0; round < 5; round++) {
        expect(await new Promise<SendOutcome>((done) => transport.send(prepared, done))).toMatchObject({ ok: true });
      }
    }
  } finally {
    await transport.close();
    await server.stop();
  }
});
