import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { median } from 'simple-statistics';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../src/base/random.ts';
import { NS_PER_MS } from '../../src/base/units.ts';
import type { BatcherPolicy } from '../../src/queueing/batcher-policy.ts';
import { type FittedLaw, fitServiceLaw } from '../../src/queueing/fit.ts';
import type { Observation } from '../../src/queueing/observation.ts';
import { affineLaw, executionNs, type ServiceLaw } from '../../src/queueing/service-law.ts';
import { type SimulationOptions, simulate } from '../../src/queueing/simulate.ts';

const ms = (value: number): number => value * NS_PER_MS;
const counted: SimulationOptions = { warmUpRequests: 200, requests: 1500, seed: 7 };

const policyOf = (instances: number, maxBatchSize: number, delayMs = 0): BatcherPolicy => ({
  instances,
  maxBatchSize,
  preferredBatchSizes: [],
  maxQueueDelayNs: ms(delayMs),
  dynamicBatching: true,
});

/** What a server with that law would have told of the closed loop. */
function observe(law: ServiceLaw, policy: BatcherPolicy, concurrency: number, variant = 'v'): Observation {
  const roundTripNs = ms(0.3);
  const run = simulate(policy, law, { kind: 'closed', concurrency, roundTripNs }, counted);
  return {
    variant,
    policy,
    concurrency,
    samplesPerRequest: 1,
    requestsPerSecond: run.requestsPerSecond,
    latencyNs: run.latencyNs,
    roundTripNs,
    split: law.split,
    batches: Array.from(run.executions, (executions, batchSize) => ({
      batchSize,
      executions,
      meanExecutionNs: executionNs(law, Math.max(1, batchSize), run.busyInstances),
    })).filter(({ executions }) => executions > 0),
  };
}

const fitOf = (...observations: Observation[]): FittedLaw => fitServiceLaw(observations, 'v') as FittedLaw;
const ratio = (a: number, b: number): number => Math.abs(a / b - 1);

describe('a law known beforehand', () => {
  it('is found again, and foretells configs that were not observed', () => {
    const times = fc.record({
      fixedMs: fc.double({ min: 0.5, max: 8, noNaN: true }),
      perSampleMs: fc.double({ min: 0.05, max: 1, noNaN: true }),
      perInstance: fc.constantFrom(0, 0.05, 0.2, 0.5),
      cv: fc.constantFrom(0, 0.05),
    });
    fc.assert(
      fc.property(times, ({ fixedMs, perSampleMs, perInstance, cv }) => {
        const law: ServiceLaw = {
          ...affineLaw(ms(fixedMs), ms(perSampleMs)),
          interference: { perInstance, batchExponent: 0 },
          cv,
        };
        const fitted = fitOf(
          observe(law, policyOf(1, 16), 12),
          observe(law, policyOf(1, 16), 32),
          observe(law, policyOf(4, 8), 64),
        );
        const traffic = { kind: 'closed', concurrency: 32, roundTripNs: ms(0.3) } as const;
        const truth = simulate(policyOf(2, 16), law, traffic, counted);
        const told = simulate(policyOf(2, 16), fitted.law, { ...traffic, roundTripNs: fitted.roundTripNs }, counted);
        expect(ratio(executionNs(fitted.law, 16, 1), executionNs(law, 16, 1))).toBeLessThan(0.06);
        expect(ratio(told.requestsPerSecond, truth.requestsPerSecond)).toBeLessThan(0.15);
        expect(fitted.medianResidual).toBeLessThan(0.05);
      }),
      { seed: 3, numRuns: 25 },
    );
  });

  it('is found with its interference when several instances were busy, and with a small one when none were', () => {
    const law = { ...affineLaw(ms(2), ms(0.1)), interference: { perInstance: 0.4, batchExponent: 0 } };
    const one = observe(law, policyOf(1, 8), 16);
    const both = fitOf(one, observe(law, policyOf(4, 8), 64));
    expect(both.law.interference.perInstance).toBeGreaterThan(0.3);
    expect(both.law.interference.perInstance).toBeLessThan(0.55);
    expect(both.mostInstances).toBe(4);
    expect(fitOf(one).law.interference.perInstance).toBeGreaterThan(0);
    expect(fitOf(one).law.interference.perInstance).toBeLessThan(0.2);
  });

  it.each([0, 0.1, 0.3])('is found with a spread of about %s', (cv) => {
    const law = { ...affineLaw(ms(2), ms(0.1)), cv };
    const levels = [1, 2, 4, 8, 16].map((concurrency) => observe(law, policyOf(2, 8), concurrency));
    const found = fitOf(...levels).law.cv;
    expect(found).toBeGreaterThanOrEqual(cv / 2);
    expect(found).toBeLessThanOrEqual(cv * 1.5 + 0.02);
  });

  it('keeps a step that no line has', () => {
    const stepped: ServiceLaw = {
      ...affineLaw(ms(2), ms(0.1)),
      points: [
        { batchSize: 1, executionNs: ms(2) },
        { batchSize: 4, executionNs: ms(2) },
        { batchSize: 8, executionNs: ms(6) },
      ],
    };
    const fitted = fitOf(...[1, 2, 8, 9, 16, 24].map((level) => observe(stepped, policyOf(1, 8), level)));
    expect(ratio(executionNs(fitted.law, 8, 1), ms(6))).toBeLessThan(0.1);
    expect(ratio(executionNs(fitted.law, 1, 1), ms(2))).toBeLessThan(0.1);
  });
});

describe('what a fit says of itself', () => {
  const law = { ...affineLaw(ms(2), ms(0.1)), interference: { perInstance: 0.4, batchExponent: 0 } };
  const levels = [1, 4, 8, 16, 32].flatMap((level) => [
    observe(law, policyOf(1, 8), level),
    observe(law, policyOf(4, 8), level),
  ]);

  it('holds the truth within its intervals, and they are narrow where the data are exact', () => {
    const { estimates, quality } = fitOf(...levels);
    expect(quality.isGood).toBe(true);
    expect(estimates.fixedNs.high / estimates.fixedNs.low).toBeLessThan(1.6);
    expect(estimates.perInstance.low).toBeLessThanOrEqual(0.41);
    expect(estimates.perInstance.high).toBeGreaterThanOrEqual(0.39);
  });

  it('is wider where measurements scatter, and open where there is only one', () => {
    const random = seededRandom(5);
    const scattered = levels.map((observation) => {
      const factor = Math.exp(0.5 * (random.float() - 0.5));
      const batches = observation.batches.map((batch) => ({
        ...batch,
        meanExecutionNs: batch.meanExecutionNs * factor,
      }));
      return { ...observation, batches };
    });
    const widthOf = ({ estimates: { fixedNs } }: FittedLaw): number => (fixedNs.high - fixedNs.low) / fixedNs.value;
    expect(widthOf(fitOf(...scattered))).toBeGreaterThan(2 * widthOf(fitOf(...levels)));
    expect(fitOf(levels[2] as Observation).estimates.fixedNs).toMatchObject({ low: 0, high: Number.POSITIVE_INFINITY });
  });

  it('says so when no law of its kind explains the data', () => {
    const odd = levels.map((observation, index) => ({
      ...observation,
      batches: observation.batches.map((batch) => ({
        ...batch,
        meanExecutionNs: batch.meanExecutionNs * (index % 2 ? 3 : 0.5),
      })),
    }));
    const { quality } = fitOf(...odd.map((each) => ({ ...each, policy: policyOf(1, 8) })));
    expect(quality).toMatchObject({ isGood: false, words: expect.stringContaining('badly') });
  });
});

describe('with little to go by', () => {
  const law = affineLaw(ms(2), ms(0.2));

  it('takes one measurement', () => {
    const fitted = fitOf(observe(law, policyOf(1, 16), 20));
    expect(fitted.observations).toBe(1);
    expect(ratio(executionNs(fitted.law, 16, 1), executionNs(law, 16, 1))).toBeLessThan(0.1);
    expect(fitted.roundTripNs).toBeCloseTo(ms(0.3), 0);
  });

  it('takes one batch size: it is exact there, and larger batches take longer but less than their share', () => {
    const { law: found, largestBatch } = fitOf(observe(law, policyOf(1, 1), 4));
    expect(largestBatch).toBe(1);
    expect(ratio(executionNs(found, 1, 1), executionNs(law, 1, 1))).toBeLessThan(0.02);
    expect(executionNs(found, 8, 1)).toBeGreaterThan(executionNs(found, 1, 1));
    expect(executionNs(found, 8, 1)).toBeLessThan(8 * executionNs(found, 1, 1));
  });

  it('says nothing without statistics by batch size, or of single executions', () => {
    const some = observe(law, policyOf(1, 4), 8);
    expect(fitServiceLaw([], 'v')).toBeNull();
    expect(fitServiceLaw([{ ...some, batches: [] }], 'v')).toBeNull();
    const single = some.batches.map((batch) => ({ ...batch, executions: 1 }));
    expect(fitServiceLaw([{ ...some, batches: single }], 'v')).toBeNull();
  });

  it('takes the level from the variant itself and the shape from the others', () => {
    const slow = affineLaw(ms(4), ms(0.4));
    const others = [1, 4, 16, 32].map((level) => observe(slow, policyOf(1, 16), level, 'slow'));
    const fitted = fitOf(...others, observe(law, policyOf(1, 8), 16));
    expect(fitted.knowsVariant).toBe(true);
    for (const size of [1, 8, 16]) {
      expect(ratio(executionNs(fitted.law, size, 1), executionNs(law, size, 1))).toBeLessThan(0.12);
    }
    const unknown = fitServiceLaw(others, 'v') as FittedLaw;
    expect(unknown.knowsVariant).toBe(false);
    expect(ratio(executionNs(unknown.law, 8, 1), executionNs(slow, 8, 1))).toBeLessThan(0.05);
  });
});

/** Of a Triton 2.51 with a Python-backend model on two cores: one window of 1.2 s each. */
type Recorded = {
  readonly instances: number;
  readonly maxBatchSize: number;
  readonly delayUs: number;
  readonly concurrency: number;
  readonly requestsPerSecond: number;
  readonly avgMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Batch size, executions, mean milliseconds of one. */
  readonly batches: [number, number, number][];
};

it('foretells 160 measurements of a real server from eight of them', () => {
  const fixture = new URL('../fixtures/queueing/real-triton-grid.json.gz', import.meta.url);
  const grid = JSON.parse(gunzipSync(readFileSync(fixture)).toString()) as Recorded[];
  const random = seededRandom(11);
  // The recording has no queue times: its round trip is read where nothing can queue.
  const alone = grid.find((row) => row.concurrency === 1 && row.delayUs === 0) as Recorded;
  const roundTripNs = ms(alone.avgMs - (alone.batches[0]?.[2] ?? 0));
  const observed = (row: Recorded): Observation => ({
    variant: 'v',
    policy: policyOf(row.instances, row.maxBatchSize, row.delayUs / 1000),
    concurrency: row.concurrency,
    samplesPerRequest: 1,
    requestsPerSecond: row.requestsPerSecond,
    latencyNs: { p50: ms(row.p50Ms), p99: ms(row.p99Ms) },
    roundTripNs,
    split: { input: 0, output: 0 },
    batches: row.batches.map(([batchSize, executions, mean]) => ({ batchSize, executions, meanExecutionNs: ms(mean) })),
  });
  const eight = Array.from({ length: 8 }, () => grid[random.int(0, grid.length - 1)] as Recorded);
  const { law } = fitOf(...eight.map(observed));
  const errors = grid
    .filter((row) => !eight.includes(row))
    .map((row) => {
      const { policy, concurrency } = observed(row);
      const told = simulate(policy, law, { kind: 'closed', concurrency, roundTripNs }, { ...counted, requests: 800 });
      return {
        rate: ratio(told.requestsPerSecond, row.requestsPerSecond),
        p99: ratio(told.latencyNs.p99, ms(row.p99Ms)),
      };
    });
  expect(errors.length).toBeGreaterThanOrEqual(grid.length - 8);
  expect(median(errors.map(({ rate }) => rate))).toBeLessThan(0.12);
  expect(median(errors.map(({ p99 }) => p99))).toBeLessThan(0.25);
});
