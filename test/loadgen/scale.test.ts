import { createServer as createHttp } from 'node:http';
import { createServer as createHttp2, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo, Server } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it, onTestFinished } from 'vitest';
import { realClock } from '#base/clock.ts';
import { ClosedLoop } from '#loadgen/closed-loop.ts';
import { OpenLoop } from '#loadgen/open-loop.ts';
import { limited, poissonArrivals } from '#loadgen/pacers.ts';
import { Recorder } from '#loadgen/recorder.ts';
import { requestCycle } from '#loadgen/request-turns.ts';
import { openTransport } from '#loadgen/transports/open.ts';
import type { PreparedRequest, SendOutcome, Transport } from '#loadgen/types.ts';
import { grpcFrame, inferResponse } from '../support/infer-servers.ts';
import { inferRequest } from '../support/transport-suite.ts';
import { aRequestSet } from './simulation.ts';

/**
 * The level that issue of a thread is asked to hold; over HTTP it is as many sockets, twice, as
 * both ends are here.
 */
const IN_FLIGHT = 4096;

/** Answers no one before so many requests have arrived, and then all of them. */
class Gate {
  readonly #answers: (() => void)[] = [];
  most = 0;

  arrive(answer: () => void): void {
    this.#answers.push(answer);
    this.most = Math.max(this.most, this.#answers.length);
    if (this.#answers.length === IN_FLIGHT) for (const each of this.#answers.splice(0)) each();
  }
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen({ port: 0, host: '127.0.0.1', backlog: IN_FLIGHT }, resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function gatedGrpc(gate: Gate): Promise<string> {
  const server = createHttp2({ settings: { maxConcurrentStreams: IN_FLIGHT } });
  server.on('stream', (stream: ServerHttp2Stream) => {
    stream.resume().on('end', () =>
      gate.arrive(() => {
        stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
        stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
        stream.end(grpcFrame(inferResponse(16)));
      }),
    );
  });
  onTestFinished(() => {
    server.close();
  });
  return listening(server as unknown as Server);
}

async function gatedHttp(gate: Gate): Promise<string> {
  const server = createHttp((request, response) => {
    request.resume().on('end', () => gate.arrive(() => response.end('{}')));
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return listening(server);
}

describe('one thread', () => {
  it.each([
    ['grpc', gatedGrpc],
    ['http', gatedHttp],
  ] as const)('has 4,096 requests in flight at once over %s, and again', async (protocol, gated) => {
    const gate = new Gate();
    const transport = openTransport(protocol, { url: await gated(gate), timeoutMs: 15_000 });
    onTestFinished(() => transport.close());
    const prepared = transport.prepare(inferRequest(16));
    for (let round = 0; round < 2; round++) {
      const outcomes = await Promise.all(
        Array.from({ length: IN_FLIGHT }, () => new Promise<SendOutcome>((done) => transport.send(prepared, done))),
      );
      expect(outcomes.find((outcome) => !outcome.ok)).toBeUndefined();
    }
    expect(gate.most).toBe(IN_FLIGHT);
  });
});

/** Answers in the next turn of the event loop, hundreds together, as a socket does. */
class InstantTransport implements Transport {
  readonly #due: ((outcome: SendOutcome) => void)[] = [];
  readonly #outcome: SendOutcome = { ok: true };

  prepare(request: PreparedRequest['request']): PreparedRequest {
    return { request };
  }

  send(_: PreparedRequest, done: (outcome: SendOutcome) => void): void {
    this.#due.push(done);
    if (this.#due.length === 1) setImmediate(this.#answer);
  }

  async close(): Promise<void> {
    // Nothing is open.
  }

  readonly #answer = (): void => {
    const answered = this.#due.splice(0);
    for (const done of answered) done(this.#outcome);
  };
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Buffers are freed a moment after they were found to be garbage. */
async function heldMiB(): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 3; round++) {
    collectGarbage();
    await realClock.sleep(5);
    const { heapUsed, external } = process.memoryUsage();
    least = Math.min(least, (heapUsed + external) / 2 ** 20);
  }
  return least;
}

describe('memory', () => {
  /** A clock that runs away from its schedule. */
  const FASTER = 1e6;
  const WARM_UP = 100_000;
  const REQUESTS = 2_000_000;
  /** So little that not even a number may be kept for each request. */
  const MAX_GROWTH_MIB = 3;

  const until = async (reached: () => boolean): Promise<void> => {
    for (let waits = 0; !reached() && waits < 4000; waits++) await realClock.sleep(5);
    expect(reached()).toBe(true);
  };

  it('stays the same over two million requests of a closed loop', async () => {
    const transport = new InstantTransport();
    const recorder = new Recorder();
    const loop = new ClosedLoop(transport, { nextRequest: requestCycle(transport, aRequestSet) }, recorder, realClock);
    let counted = 0;
    recorder.start({ lengthNs: 20e6, minRequests: 1 }, ({ succeeded }) => {
      counted += succeeded;
    });
    loop.setConcurrency(256);
    await until(() => loop.sent > WARM_UP);
    const before = await heldMiB();
    await until(() => loop.sent > WARM_UP + REQUESTS);
    const after = await heldMiB();
    await loop.drain(5000);
    recorder.closeNow(realClock.nowNs());
    expect(counted).toBe(loop.sent - 1);
    expect(after - before).toBeLessThan(MAX_GROWTH_MIB);
  });

  it('stays the same over a million requests of an open loop', async () => {
    const transport = new InstantTransport();
    const recorder = new Recorder();
    recorder.start({ lengthNs: 20e6 * FASTER, minRequests: 1 }, () => undefined);
    const half = REQUESTS / 2;
    const loop = new OpenLoop(
      { transport, nextRequest: requestCycle(transport, aRequestSet), recorder },
      // The schedule is always behind, so every turn sends all that it may.
      {
        clock: { ...realClock, nowNs: () => realClock.nowNs() * FASTER },
        alarm: { set: (_, ring) => void setImmediate(ring), clear: () => undefined },
      },
      limited(poissonArrivals(1000, 3), { requests: WARM_UP + half }),
      { maxInFlight: 4096, lateNs: 1e6 },
    );
    loop.start();
    await until(() => loop.due > WARM_UP);
    const before = await heldMiB();
    await until(() => loop.ended);
    expect(await loop.drain(5000)).toBe(0);
    expect(loop.due).toBe(WARM_UP + half);
    expect((await heldMiB()) - before).toBeLessThan(MAX_GROWTH_MIB);
  });
});
