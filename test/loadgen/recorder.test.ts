import { describe, expect, it } from 'vitest';
import { type Batch, Recorder } from '#loadgen/recorder.ts';
import { badStatus } from '#loadgen/transports/outcome.ts';
import type { SendOutcome } from '#loadgen/types.ts';

const ok: SendOutcome = { ok: true };
const failed = (kind: 'status' | 'refused' | 'timeout', message = kind as string): SendOutcome => ({
  ok: false,
  kind,
  message,
});

function started(rule = { lengthNs: 100, minRequests: 1 }) {
  const recorder = new Recorder();
  const batches: Batch[] = [];
  recorder.start(rule, (batch) => batches.push(batch));
  recorder.record(1000, 50, ok);
  return { recorder, batches };
}

describe('Recorder', () => {
  it('counts no reply over plain HTTP as good that refuses its request, however fast it was', () => {
    const recorder = new Recorder({ limits: { e2eNs: 60 } });
    const batches: Batch[] = [];
    recorder.start({ lengthNs: 100, minRequests: 1 }, (batch) => batches.push(batch), 0);
    const reply = (status: number): SendOutcome => ({
      ok: true,
      reply: { status, bodyBytes: 0, waitNs: 1, readNs: 1, lookupsNs: [], connectsNs: [] },
    });
    for (const status of [200, 204, 302, 400, 404, 503]) recorder.record(10, 50, reply(status));
    recorder.record(110, 70, reply(200));
    expect(batches[0]).toMatchObject({ succeeded: 7, failed: 0, good: 3 });
  });

  it('ends a batch with the first completion past its length, leaving no gap', () => {
    const { recorder, batches } = started();
    for (const at of [1040, 1090, 1130, 1150, 1229, 1230]) recorder.record(at, 50, ok);
    expect(batches.map(({ startNs, endNs, succeeded }) => [startNs, endNs, succeeded])).toEqual([
      [1000, 1130, 3],
      [1130, 1230, 3],
    ]);
  });

  it('gives requests that complete together a steady rate, wherever the batch ends among them', () => {
    const { recorder, batches } = started({ lengthNs: 90, minRequests: 1 });
    for (let i = 1; i < 8; i++) recorder.record(1000, 20, ok);
    for (let time = 1020; time < 4000; time += 20) for (let i = 0; i < 8; i++) recorder.record(time, 20, ok);
    const rates = batches.map((batch) => batch.succeeded / (batch.endNs - batch.startNs));
    for (const rate of rates) expect(rate).toBeCloseTo(8 / 20, 12);
  });

  it('waits for the number of requests that the rule asks for, unless told to end', () => {
    const { recorder, batches } = started({ lengthNs: 10, minRequests: 3 });
    recorder.closeNow(1050);
    recorder.record(1100, 5, ok);
    recorder.record(1200, 5, failed('status'));
    expect(batches).toEqual([]);
    recorder.record(1300, 5, ok);
    recorder.record(1400, 5, ok);
    recorder.closeNow(1500);
    expect(batches.map(({ endNs, succeeded, failed }) => [endNs, succeeded, failed])).toEqual([
      [1300, 2, 1],
      [1500, 1, 0],
    ]);
  });

  it('counts failures by kind with the first message, and their time in no latency, in each batch its own', () => {
    const { recorder, batches } = started();
    recorder.record(1010, 5, failed('status', 'first'));
    recorder.record(1020, 5, failed('status', 'second'));
    recorder.record(1030, 900, failed('timeout'));
    recorder.record(1120, 7, ok);
    expect(batches[0]?.failures).toEqual([
      { kind: 'status', count: 2, firstMessage: 'first' },
      { kind: 'timeout', count: 1, firstMessage: 'timeout' },
    ]);
    expect(batches[0]).toMatchObject({ succeeded: 1, failed: 3 });
    expect(batches[0]?.latencies.maxNs).toBe(7);
    recorder.record(1125, 5, failed('status', 'third'));
    recorder.record(1225, 5, ok);
    expect(batches[1]?.failures).toEqual([{ kind: 'status', count: 1, firstMessage: 'third' }]);
    recorder.record(1330, 5, ok);
    expect(batches[2]?.failures).toBeUndefined();
  });

  it('ends its batches behind common moments, whenever it began, so that several keep step', () => {
    for (const first of [1003, 1090, 1200]) {
      const recorder = new Recorder();
      const ends: number[] = [];
      recorder.start({ lengthNs: 100, minRequests: 1, inStepWithNs: 1000 }, ({ endNs }) => ends.push(endNs));
      for (let at = first; at < 1800; at += 7) recorder.record(at, 5, ok);
      for (const [index, end] of ends.entries()) {
        const moment = 1100 + 100 * (index + (first === 1200 ? 2 : 0));
        expect(end - moment).toBeGreaterThanOrEqual(0);
        expect(end - moment).toBeLessThan(7);
      }
      expect(ends.length).toBeGreaterThan(4);
    }
  });

  it('knows how many failed since the start, in the open batch too', () => {
    const { recorder } = started();
    for (const at of [1010, 1020, 1120, 1130]) recorder.record(at, 5, failed('status'));
    expect(recorder.failedSoFar).toBe(4);
    recorder.start({ lengthNs: 100, minRequests: 1 }, () => undefined);
    expect(recorder.failedSoFar).toBe(0);
  });

  it('counts nothing once stopped', () => {
    const { recorder, batches } = started();
    recorder.stop();
    recorder.record(5000, 1, ok);
    recorder.closeNow(6000);
    expect([batches, recorder.failedSoFar]).toEqual([[], 0]);
  });

  it('knows since when nothing was served', () => {
    const { recorder } = started();
    expect(recorder.unserved).toBeNull();
    recorder.record(1010, 1, failed('refused'));
    recorder.record(1020, 1, failed('refused'));
    expect(recorder.unserved).toEqual({ sinceNs: 1010, message: 'refused' });
    recorder.record(1030, 1, ok);
    expect(recorder.unserved).toBeNull();
  });

  it.each([
    ['UNAVAILABLE', 'Server not ready', true],
    ['400', 'Server not ready', true],
    ['503', '', true],
    ['503', '<html><h1>503 Service Temporarily Unavailable</h1></html>', true],
    ['502', 'oops', true],
    ['UNAVAILABLE', 'Received HTTP status code 503', true],
    ['UNAVAILABLE', 'upstream connect error or disconnect/reset before headers', true],
    ['503', 'Exceeds maximum queue size', false],
    ['UNAVAILABLE', 'Exceeds maximum queue size', false],
    ['INTERNAL', 'the model failed', false],
    ['500', '<html></html>', false],
  ])('takes status %s with %j for an outage: %j', (status, words, isOutage) => {
    const { recorder } = started();
    recorder.record(1010, 1, badStatus(status, words));
    expect(recorder.unserved !== null).toBe(isOutage);
  });
});
