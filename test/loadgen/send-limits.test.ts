import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sleepingAlarm } from '#base/alarm.ts';
import { NS_PER_S } from '#base/units.ts';
import { defaultOpenLoopRule, OpenLoop } from '#loadgen/open-loop.ts';
import { constantRate, type Pacer, poissonArrivals } from '#loadgen/pacers.ts';
import { Recorder } from '#loadgen/recorder.ts';
import type { SendOutcome, Transport } from '#loadgen/types.ts';
import {
  limitedSends,
  newSendLimits,
  SendThrottle,
  SharedBucket,
  SharedConnections,
} from '#loadgen/workers/send-limits.ts';

import { SimulatedClock } from './simulation.ts';

describe('a bucket that threads share', () => {
  it('gives at most rate × (t + 1 s) in any time, however it is taken from', () => {
    const steps = fc.array(fc.record({ ns: fc.nat(3e9), takes: fc.nat(300), thread: fc.nat(1) }), { maxLength: 40 });
    fc.assert(
      fc.property(fc.constantFrom(0.5, 3, 77.7, 1000), steps, (requestsPerSecond, all) => {
        const limits = newSendLimits({ requestsPerSecond, connections: 1 }, 2, 0);
        const threads = [new SharedBucket(limits), new SharedBucket(limits)] as const;
        const taken: { readonly atNs: number; readonly count: number }[] = [];
        let nowNs = 0;
        for (const { ns, takes, thread } of all) {
          nowNs += ns;
          let count = 0;
          for (let take = 0; take < takes; take++) if (threads[thread as 0 | 1].take(() => nowNs)) count++;
          taken.push({ atNs: nowNs, count });
        }
        taken.forEach(({ atNs }, first) => {
          let count = 0;
          for (const each of taken.slice(first)) {
            count += each.count;
            const seconds = (each.atNs - atNs) / NS_PER_S;
            expect(count).toBeLessThanOrEqual(
              2 * Math.max(1, requestsPerSecond / 2) + requestsPerSecond * seconds + 1e-3,
            );
          }
        });
      }),
    );
  });

  it('gives the whole rate for hours, past the turn of its clock', () => {
    const bucket = new SharedBucket(newSendLimits({ requestsPerSecond: 1000, connections: 1 }, 1, 0));
    const hours = 2;
    for (let ms = 0; ms < hours * 3600e3; ms++) if (!bucket.take(() => ms * 1e6)) expect.fail(`nothing after ${ms} ms`);
  });

  it('gives again after a rest of any length', () => {
    for (const restNs of [1e9, 2000e9, 4000e9, 86_400e9]) {
      const bucket = new SharedBucket(newSendLimits({ requestsPerSecond: 10, connections: 1 }, 1, 0));
      while (bucket.take(() => 0));
      expect(bucket.take(() => restNs)).toBe(true);
    }
  });
});

describe('a transport within a limit', () => {
  it('sends nothing beyond it, and says so', () => {
    let sent = 0;
    const inner: Transport = {
      prepare: (request) => ({ request }),
      send(_, done) {
        sent++;
        done({ ok: true });
      },
      close: async () => undefined,
    };
    const faults: string[] = [];
    const outcomes: SendOutcome[] = [];
    const limits = newSendLimits({ requestsPerSecond: 20, connections: 1 }, 1, 0);
    const throttle = new SendThrottle(
      limits,
      () => 0,
      ({ code, message }) => faults.push(`${code}: ${message}`),
    );
    const transport = limitedSends(inner, throttle);
    const prepared = transport.prepare({ model: 'm', version: '', batch: 1, inputs: [] });
    for (let request = 0; request < 12; request++) transport.send(prepared, (outcome) => outcomes.push(outcome));
    expect([sent, outcomes.length, outcomes.filter(({ ok }) => ok).length]).toEqual([10, 12, 10]);
    expect(faults[0]).toBe('USAGE: it sends at most 20 requests per second, and more were due');
  });
});

describe('a schedule within a limit', () => {
  const PER_SECOND = 200;

  /**
   * Sends a schedule's requests in virtual time; returns when each was due and sent, in seconds,
   * and the faults.
   */
  async function sendAt(pacer: Pacer, seconds: number) {
    const clock = new SimulatedClock();
    const limits = newSendLimits({ requestsPerSecond: PER_SECOND, connections: 1 }, 1, clock.nowNs());
    const faults: string[] = [];
    const throttle = new SendThrottle(
      limits,
      () => clock.nowNs(),
      ({ message }) => faults.push(message),
    );
    const sentS: number[] = [];
    const inner: Transport = {
      prepare: (request) => ({ request }),
      send(_, done) {
        sentS.push(clock.nowNs() / NS_PER_S);
        done({ ok: true });
      },
      close: async () => undefined,
    };
    const transport = limitedSends(inner, throttle);
    const prepared = transport.prepare({ model: 'm', version: '', batch: 1, inputs: [] });
    const loop = new OpenLoop(
      { transport, nextRequest: () => prepared, classOf: undefined, recorder: new Recorder() },
      { clock, alarm: sleepingAlarm(clock) },
      pacer,
      defaultOpenLoopRule,
      throttle,
    );
    loop.start();
    await clock.sleep(seconds * 1e3);
    const tally = loop.takeTally();
    await loop.drain(0);
    return { sentS, tally, faults };
  }

  it('sends random arrivals at the limit later where they exceed it, and never more', async () => {
    const { sentS, tally, faults } = await sendAt(poissonArrivals(PER_SECOND, 7), 300);
    expect(faults).toEqual([]);
    expect(tally.late).toBeGreaterThan(0);
    expect(sentS.length).toBeGreaterThan(0.97 * 300 * PER_SECOND);
    for (const [index, from] of sentS.entries()) {
      const within = sentS[index + 2 * PER_SECOND];
      // Two seconds' worth and a burst take more than a second and a half.
      if (within !== undefined) expect(within - from).toBeGreaterThan(1.49);
    }
  });

  it('reports a schedule above the limit, and sends it at the limit until then', async () => {
    const { sentS, faults } = await sendAt(constantRate(1.5 * PER_SECOND), 60);
    expect(faults[0]).toBe(`it sends at most ${PER_SECOND} requests per second, and more were due`);
    expect(sentS.length).toBeLessThan(61 * PER_SECOND);
  });
});

it('connections are counted over all threads, and given back by those that ended', () => {
  const limits = newSendLimits({ requestsPerSecond: 1, connections: 3 }, 2, 0);
  const [one, other] = [0, 1].map((place) => new SharedConnections({ ...limits, place })) as [
    SharedConnections,
    SharedConnections,
  ];
  expect([one.take(), one.take(), other.take()]).toEqual([null, null, null]);
  expect(other.take()).toMatchObject({ code: 'USAGE', hint: expect.stringMatching(/--max-connections/) });
  one.release();
  expect(other.take()).toBeNull();
  one.releaseAll();
  expect([one.take(), one.take()]).toEqual([null, expect.objectContaining({ code: 'USAGE' })]);
});
