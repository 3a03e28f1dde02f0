import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BatcherPolicy } from '#queueing/batcher-policy.ts';
import { type Arrival, drive } from './drive.ts';

const policies: fc.Arbitrary<BatcherPolicy> = fc.integer({ min: 0, max: 12 }).chain((maxBatchSize) =>
  fc.record({
    maxBatchSize: fc.constant(maxBatchSize),
    preferredBatchSizes: fc.array(fc.integer({ min: 1, max: Math.max(1, maxBatchSize) }), {
      maxLength: maxBatchSize === 0 ? 0 : 3,
    }),
    maxQueueDelayNs: fc.constantFrom(0, 1, 30, 200),
    instances: fc.integer({ min: 1, max: 4 }),
    dynamicBatching: fc.boolean(),
    prefetch: fc.boolean(),
  }),
);

/** Arrivals on a coarse lattice, so that many events fall on the same instant. */
const cases = policies.chain((policy) =>
  fc.record({
    policy: fc.constant(policy),
    arrivals: fc
      .array(fc.record({ gap: fc.integer({ min: 0, max: 40 }), share: fc.double({ min: 0, max: 1, noNaN: true }) }), {
        minLength: 1,
        maxLength: 60,
      })
      .map((gaps): Arrival[] => {
        let atNs = 0;
        return gaps.map(({ gap, share }) => {
          atNs += gap;
          return { atNs, samples: 1 + Math.floor(share * (Math.max(1, policy.maxBatchSize) - 1)) };
        });
      }),
    fixed: fc.integer({ min: 1, max: 100 }),
    perSample: fc.integer({ min: 0, max: 10 }),
    resizes: fc.array(
      fc.record({ atNs: fc.integer({ min: 0, max: 800 }), instances: fc.integer({ min: 1, max: 5 }) }),
      { maxLength: 3 },
    ),
  }),
);

const run = (
  given: typeof cases extends fc.Arbitrary<infer T> ? T : never,
  resize: boolean,
): ReturnType<typeof drive> =>
  drive(
    given.policy,
    given.arrivals,
    (samples) => given.fixed + given.perSample * samples,
    (resize ? given.resizes : []).map(({ atNs, instances }) => ({
      atNs,
      run: (batcher, nowNs) => batcher.setInstances(nowNs, instances),
    })),
  );

describe('whatever the policy and the arrivals', () => {
  it('serves every request exactly once, in order of arrival, also when instances come and go', () => {
    fc.assert(
      fc.property(cases, (given) => {
        const order = run(given, true).flatMap(({ requests }) => requests);
        expect(order).toEqual(given.arrivals.map((_, index) => index));
      }),
      { numRuns: 400, endOnFailure: true },
    );
  });

  it('never exceeds the maximum batch, nor starts before the arrivals', () => {
    fc.assert(
      fc.property(cases, (given) => {
        for (const { samples, requests, startNs } of run(given, true)) {
          const arrivals = requests.map((request) => given.arrivals[request] as Arrival);
          expect(samples).toBeLessThanOrEqual(Math.max(1, given.policy.maxBatchSize));
          expect(samples).toBe(arrivals.reduce((sum, arrival) => sum + arrival.samples, 0));
          expect(startNs).toBeGreaterThanOrEqual(Math.max(...arrivals.map(({ atNs }) => atNs)));
        }
      }),
      { numRuns: 400, endOnFailure: true },
    );
  });

  it('runs one execution at a time on each instance', () => {
    fc.assert(
      fc.property(cases, (given) => {
        const freeAt: number[] = [];
        for (const { instance, startNs, endNs } of run(given, false)) {
          expect(instance).toBeLessThan(given.policy.instances);
          expect(startNs).toBeGreaterThanOrEqual(freeAt[instance] ?? 0);
          freeAt[instance] = endNs;
        }
      }),
      { numRuns: 400, endOnFailure: true },
    );
  });

  it('leaves no instance idle for longer than the delay while a request waits', () => {
    fc.assert(
      fc.property(cases, (given) => {
        const ends = new Map<number, number>();
        for (const { instance, requests, startNs, endNs } of run(given, false)) {
          const arrivedNs = (given.arrivals[requests[0] as number] as Arrival).atNs;
          const idleSinceNs = Math.min(
            ...Array.from({ length: given.policy.instances }, (_, index) => ends.get(index) ?? 0),
          );
          const delayNs = given.policy.dynamicBatching ? given.policy.maxQueueDelayNs : 0;
          expect(startNs - Math.max(idleSinceNs, arrivedNs)).toBeLessThanOrEqual(delayNs);
          ends.set(instance, endNs);
        }
      }),
      { numRuns: 400, endOnFailure: true },
    );
  });
});
