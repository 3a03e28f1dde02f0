import { describe, expect, it, onTestFinished } from 'vitest';
import { ClientTimeSum } from '#loadgen/client-times.ts';
import { type Batch, Recorder } from '#loadgen/recorder.ts';
import { openTransport } from '#loadgen/transports/open.ts';
import { RequestTimer, TimedSample } from '#loadgen/transports/request-timer.ts';
import type { ClientTimes, InferRequest, SendOutcome } from '#loadgen/types.ts';
import { startGrpcServer, startHttpServer } from '../support/infer-servers.ts';

const MIB = 2 ** 20;
const times: ClientTimes = { marshalNs: 1, sendNs: 20, waitNs: 300, receiveNs: 4000, unmarshalNs: 50_000 };
const totalNs = (of: ClientTimes): number => of.marshalNs + of.sendNs + of.waitNs + of.receiveNs + of.unmarshalNs;

describe.each(['grpc', 'http', 'stream'] as const)('the times of requests over our own client of %s', (kind) => {
  /** The stand-in for a server of streams gathers what comes anew with each piece. */
  const large = kind === 'stream' ? MIB : 8 * MIB;
  const opened = async (timesRequests: boolean) => {
    const server = kind === 'http' ? await startHttpServer() : await startGrpcServer();
    const options = { url: server.url, timeoutMs: 15_000, timesRequests, streaming: kind === 'stream' };
    const transport = openTransport(kind === 'http' ? 'http' : 'grpc', options);
    onTestFinished(async () => {
      await transport.close();
      await server.close();
    });
    const send = (bytes: number, back: number): Promise<SendOutcome> => {
      const inputs = [{ name: 'IN', datatype: 'UINT8', shape: [1, bytes], raw: Buffer.alloc(bytes) }];
      const request: InferRequest = { model: 'm', version: '', batch: 1, inputs };
      server.replyWith({ kind: 'ok', bodyBytes: back });
      return new Promise((done) => transport.send(transport.prepare(request), done));
    };
    return send;
  };
  const timesOf = async (send: (bytes: number, back: number) => Promise<SendOutcome>, bytes: number, back: number) => {
    // Not every request of a fast machine is in the sample.
    for (;;) {
      const startNs = performance.now() * 1e6;
      const outcome = await send(bytes, back);
      if (!outcome.ok) throw new Error(`failed: ${JSON.stringify(outcome)}`);
      if (!outcome.times) continue;
      expect(totalNs(outcome.times)).toBeLessThanOrEqual(performance.now() * 1e6 - startNs);
      for (const part of Object.values(outcome.times)) expect(part).toBeGreaterThanOrEqual(0);
      return outcome.times;
    }
  };

  it('say where the bytes took their time: on the way out, or on the way back', async () => {
    const send = await opened(true);
    await send(64, 64);
    const [out, back]: [ClientTimes[], ClientTimes[]] = [[], []];
    for (let request = 0; request < 12; request++) {
      out.push(await timesOf(send, large, 64));
      back.push(await timesOf(send, 64, large));
    }
    // The least of several, because a pause of the machine falls into any part of some.
    const least = (all: readonly ClientTimes[], part: (times: ClientTimes) => number): number =>
      Math.min(...all.map(part));
    expect(least(out, ({ sendNs }) => sendNs)).toBeGreaterThan(
      2 * least(out, ({ receiveNs, unmarshalNs }) => receiveNs + unmarshalNs),
    );
    expect(least(back, ({ receiveNs }) => receiveNs)).toBeGreaterThan(
      2 * least(back, ({ marshalNs, sendNs }) => marshalNs + sendNs),
    );
  });

  it('are taken only where they are asked for', async () => {
    expect(await (await opened(false))(64, 64)).not.toHaveProperty('times');
  });
});

describe('the sample of timed requests', () => {
  const timedAfter = (gapNs: number, seconds: number): number => {
    const sample = new TimedSample();
    // Of the first 10 ms all are timed, as nobody knows yet how many there are.
    const settled = Math.ceil(2e7 / gapNs);
    const count = settled + Math.round((seconds * 1e9) / gapNs);
    const timed = Array.from({ length: count }, (_, index) => sample.next(1e12 + index * gapNs));
    return timed.slice(settled).filter(Boolean).length;
  };

  it('has every request while there are few, and the same number in a second however many there are', () => {
    expect(timedAfter(20_000_000, 1)).toBe(50);
    for (const perSecond of [1000, 3000, 20_000, 60_000, 500_000]) {
      expect(timedAfter(1e9 / perSecond, 4) / 4, `${perSecond}/s`).toBeGreaterThan(54);
      expect(timedAfter(1e9 / perSecond, 4) / 4, `${perSecond}/s`).toBeLessThan(66);
    }
  });

  it('has all again as soon as they are few again, and all of a few that come together', () => {
    const sample = new TimedSample();
    for (let at = 0; at < 100_000; at++) sample.next(1e12 + at * 1000);
    const slow = Array.from({ length: 16 }, (_, at) => sample.next(2e12 + Math.floor(at / 8) * 200_000_000));
    expect(slow.filter(Boolean)).toHaveLength(16);
  });

  it('keeps no step with requests that are sent together', () => {
    const sample = new TimedSample();
    const places = new Set<number>();
    const timed = Array.from({ length: 16 * 5000 }, (_, at) => sample.next(1e12 + Math.floor(at / 16) * 1_600_000));
    for (const [at, timer] of timed.entries()) if (timer && at > 16 * 20) places.add(at % 16);
    expect(places.size).toBe(16);
    expect(timed.filter(Boolean).length).toBeLessThan(timed.length / 10);
  });
});

describe('a timer', () => {
  it('counts no time twice when the reply is there before the word that all was sent', () => {
    const startNs = performance.now() * 1e6;
    const timer = new RequestTimer(startNs);
    timer.heard(startNs + 500);
    timer.sent();
    const taken = timer.times();
    expect(taken).toMatchObject({ marshalNs: 0, waitNs: 0, receiveNs: 0 });
    expect(taken.sendNs).toBeCloseTo(500, 0);
  });
});

describe('the sums of times', () => {
  it('hold what the sender did before as a part of making the request, so that all parts are the latency', () => {
    const sum = new ClientTimeSum();
    sum.add(times, totalNs(times) + 7);
    sum.add(times, totalNs(times) + 7);
    expect(sum).toEqual({ requests: 2, marshalNs: 16, sendNs: 40, waitNs: 600, receiveNs: 8000, unmarshalNs: 100_000 });
  });

  it('are of the timed requests of each batch, and none where none was timed', () => {
    const recorder = new Recorder();
    const batches: Batch[] = [];
    recorder.start({ lengthNs: 100, minRequests: 1 }, (batch) => batches.push(batch), 0);
    recorder.record(50, 9, { ok: true });
    recorder.record(100, totalNs(times), { ok: true, times });
    recorder.record(200, 9, { ok: true });
    expect(batches.map(({ succeeded, clientTimes }) => [succeeded, clientTimes?.requests])).toEqual([
      [2, 1],
      [1, undefined],
    ]);
    expect(batches[0]?.clientTimes).toEqual({ requests: 1, ...times });
  });
});
