import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Network, Stage, Step } from '#queueing/network/types.ts';
import { batching, chain, closed, law, MS, poisson, relative, run, whole } from './builders.ts';

const NAMES = ['a', 'b', 'c', 'd'];

const stageNamed = (name: string): fc.Arbitrary<Stage> =>
  fc
    .record({
      maxBatchSize: fc.constantFrom(2, 4, 8),
      instances: fc.integer({ min: 1, max: 3 }),
      delayMs: fc.constantFrom(0, 0, 0.5, 3),
      fixedMs: fc.double({ min: 0.2, max: 4, noNaN: true }),
      cv: fc.constantFrom(0, 0.3),
      share: fc.constantFrom(null, 0.25, 0.6, 1),
    })
    .map(({ maxBatchSize, instances, delayMs, fixedMs, cv, share }) => ({
      name,
      policy: batching(maxBatchSize, { instances, maxQueueDelayNs: delayMs * MS }),
      law: law(fixedMs, 0.1, { cv }),
      ...(share !== null && { device: { name: 'gpu', share } }),
    }));

/** Steps over the stages, each after some of those before it. */
const stepsOf = (stages: readonly string[]): fc.Arbitrary<Step[]> =>
  fc
    .array(fc.record({ stage: fc.constantFrom(...stages), bits: fc.nat(255) }), { minLength: 1, maxLength: 5 })
    .map((list) =>
      list.map(({ stage, bits }, place) => ({
        stage,
        after: list.flatMap((_, before) => (before < place && (bits >> before) & 1 ? [before] : [])),
      })),
    );

/** The last stage calls others now and then; steps may run it. */
const networks: fc.Arbitrary<Network & { steps: Step[] }> = fc
  .record({
    stages: fc.tuple(stageNamed('a'), stageNamed('b'), stageNamed('c'), stageNamed('d')),
    calls: fc.option(
      fc.record({
        steps: stepsOf(NAMES.slice(0, 3)),
        inParallel: fc.boolean(),
        requestsPerSample: fc.constantFrom(0.5, 1, 2.5),
      }),
    ),
    steps: stepsOf(NAMES),
    interference: fc.constantFrom(0, 0.4, 1),
    atOnce: fc.constantFrom(undefined, undefined, 1, 2),
  })
  .map(({ stages, calls, steps, interference, atOnce }) => ({
    stages: stages.map((stage) => (stage.name === 'd' && calls ? { ...stage, calls: [calls] } : stage)),
    devices: [{ name: 'gpu', interference, ...(atOnce !== undefined && { atOnce }) }],
    fronts: [],
    steps,
  }));

const sum = (values: readonly number[]): number => values.reduce((total, each) => total + each, 0);

describe('whatever the network', () => {
  it('answers every request once, after what its stages took', () => {
    fc.assert(
      fc.property(networks, fc.integer({ min: 1, max: 2 }), ({ steps, ...network }, samplesPerRequest) => {
        const arrivalsNs = poisson(500, 150, 7);
        const traffic = { kind: 'open', arrivalsNs, samplesPerRequest } as const;
        const { fronts, stages } = whole({ ...network, fronts: [{ name: 'f', steps, traffic }] });
        expect(fronts[0]?.requests).toBe(150);
        for (const [place, name] of NAMES.entries()) {
          const own = 150 * steps.filter((step) => 'stage' in step && step.stage === name).length;
          const isCalled = network.stages.some(({ calls }) => calls);
          const { requests, executions } = stages[place] as (typeof stages)[number];
          if (isCalled && name !== 'd') expect(requests).toBeGreaterThanOrEqual(own);
          else expect(requests).toBe(own);
          if (!isCalled) expect(sum([...executions].map((count, size) => count * size))).toBe(own * samplesPerRequest);
        }
        const path = sum((fronts[0]?.path ?? []).map(({ queueNs, computeNs }) => queueNs + computeNs));
        expect(relative(path, fronts[0]?.latencyNs.mean as number)).toBeLessThan(1e-9);
      }),
      { numRuns: 120 },
    );
  });

  it('keeps Little’s law, over the whole and at each stage', () => {
    fc.assert(
      fc.property(networks, fc.integer({ min: 1, max: 40 }), ({ steps, ...network }, concurrency) => {
        const { fronts, stages } = run({ ...network, fronts: [closed('f', steps, concurrency)] }, { requests: 1500 });
        const { requestsPerSecond, latencyNs } = fronts[0] as (typeof fronts)[number];
        expect(relative((requestsPerSecond * latencyNs.mean) / 1e9, concurrency)).toBeLessThan(0.1);
        for (const { meanBatchSize, requestsPerSecond: each, computeNs, busyInstances, utilization } of stages) {
          expect(utilization).toBeLessThanOrEqual(1 + 1e-9);
          // A batch of several occupies one instance: the law holds for requests where each has an
          // instance of its own.
          if (meanBatchSize === 1) expect(relative((each * computeNs) / 1e9, busyInstances)).toBeLessThan(0.1);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('has the same figures for the same seed', () => {
    fc.assert(
      fc.property(networks, fc.integer(), ({ steps, ...network }, seed) => {
        const given = { ...network, fronts: [closed('f', steps, 6), closed('own', chain('a'), 2)] };
        expect(run(given, { seed, requests: 300 })).toEqual(run(given, { seed, requests: 300 }));
      }),
      { numRuns: 20 },
    );
  });

  it('has the figures of each model alone where models share nothing', () => {
    fc.assert(
      fc.property(networks, fc.integer({ min: 1, max: 20 }), ({ stages }, concurrency) => {
        const steady = stages
          .slice(0, 3)
          .map(({ device: _, ...stage }) => ({ ...stage, law: { ...stage.law, cv: 0 } }));
        const fronts = steady.map(({ name }) => closed(name, chain(name), concurrency));
        const together = run({ stages: steady, fronts }, { requests: 1000 });
        for (const [place, front] of fronts.entries()) {
          const alone = run({ stages: [steady[place] as Stage], fronts: [front] }, { requests: 1000 });
          const [both, one] = [together.fronts[place], alone.fronts[0]] as const;
          if (!both || !one) throw new Error('no front');
          const { maxBatchSize, instances } = (steady[place] as Stage).policy;
          // Requests end by whole batches, and a slow model beside fast ones answers few of the
          // requests that are counted.
          const lastBatches = (3 * maxBatchSize * instances) / both.requests;
          expect(relative(both.requestsPerSecond, one.requestsPerSecond)).toBeLessThan(0.03 + lastBatches);
        }
      }),
      { numRuns: 40 },
    );
  });
});
