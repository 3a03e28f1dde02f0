import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NS_PER_S } from '../../src/base/units.ts';
import type { SendOutcome, Transport } from '../../src/loadgen/types.ts';
import { limitedSends, newSendLimits, SharedBucket, SharedConnections } from '../../src/loadgen/workers/send-limits.ts';

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
    const transport = limitedSends(
      inner,
      limits,
      () => 0,
      ({ code, message }) => faults.push(`${code}: ${message}`),
    );
    const prepared = transport.prepare({ model: 'm', version: '', batch: 1, inputs: [] });
    for (let request = 0; request < 12; request++) transport.send(prepared, (outcome) => outcomes.push(outcome));
    expect([sent, outcomes.length, outcomes.filter(({ ok }) => ok).length]).toEqual([10, 12, 10]);
    expect(faults[0]).toBe('USAGE: it sends at most 20 requests per second, and more were due');
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
