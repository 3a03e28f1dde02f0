import { describe, expect, it } from 'vitest';
import { type Random, seededRandom } from '#base/random.ts';
import type { BatcherPolicy } from '#queueing/batcher-policy.ts';
import { affineLaw, type ServiceLaw } from '#queueing/service-law.ts';
import { simulate } from '#queueing/simulate.ts';
import type { Simulation } from '#queueing/tally.ts';
import type { Traffic } from '#queueing/traffic.ts';

const MS = 1e6;
const single: BatcherPolicy = {
  maxBatchSize: 0,
  preferredBatchSizes: [],
  maxQueueDelayNs: 0,
  instances: 1,
  dynamicBatching: false,
};
const batching = (changes: Partial<BatcherPolicy>): BatcherPolicy => ({ ...single, dynamicBatching: true, ...changes });
const law = (changes: Partial<ServiceLaw> = {}): ServiceLaw => ({ ...affineLaw(0.9 * MS, 0.1 * MS), ...changes });
const relative = (value: number, expected: number): number => Math.abs(value / expected - 1);

function poisson(perSecond: number, count: number, random: Random): Float64Array {
  let atNs = 0;
  return Float64Array.from({ length: count }, () => {
    atNs -= (Math.log(1 - random.float()) / perSecond) * 1e9;
    return atNs;
  });
}

function open(policy: BatcherPolicy, given: ServiceLaw, perSecond: number, count = 60_000): Simulation {
  const arrivalsNs = poisson(perSecond, count, seededRandom(3));
  return simulate(policy, given, { kind: 'open', arrivalsNs }, { warmUpRequests: 1000, requests: 1, seed: 4 });
}

function closed(
  policy: BatcherPolicy,
  given: ServiceLaw,
  traffic: Partial<Traffic> & { concurrency: number },
  seed = 1,
) {
  return simulate(policy, given, { kind: 'closed', ...traffic } as Traffic, {
    warmUpRequests: 500,
    requests: 4000,
    seed,
  });
}

describe('one server and Poisson arrivals', () => {
  it.each([
    [0.3, 0],
    [0.7, 0],
    [0.6, 0.5],
    [0.5, 1],
  ])('at load %f with spread %f waits as Pollaczek and Khinchine say', (load, cv) => {
    const { queueNs, computeNs, busyInstances } = open(single, law({ cv }), load * 1000);
    const expected = (load * MS * (1 + cv * cv)) / (2 * (1 - load));
    expect(relative(queueNs, expected)).toBeLessThan(0.06);
    expect(relative(computeNs, MS)).toBeLessThan(0.02);
    expect(relative(busyInstances, load)).toBeLessThan(0.02);
  });
});

describe('a closed loop', () => {
  it('serves one client without queueing, round trip and pause included', () => {
    const { requestsPerSecond, latencyNs, queueNs, executions } = closed(batching({ maxBatchSize: 8 }), law(), {
      concurrency: 1,
      roundTripNs: 0.5 * MS,
      thinkNs: 0.5 * MS,
    });
    expect(requestsPerSecond).toBeCloseTo(500, 6);
    expect(latencyNs.p50).toBeCloseTo(1.5 * MS, 3);
    expect(latencyNs.p99).toBeCloseTo(1.5 * MS, 3);
    expect(queueNs).toBe(0);
    expect([...executions].slice(0, 3)).toEqual([0, 4000, 0]);
  });

  it('saturates at instances times batch over the time of a batch', () => {
    const { requestsPerSecond, meanBatchSize, busyInstances } = closed(
      batching({ maxBatchSize: 8, instances: 2 }),
      law(),
      { concurrency: 128 },
    );
    expect(meanBatchSize).toBe(8);
    expect(busyInstances).toBeCloseTo(2, 6);
    expect(relative(requestsPerSecond, (2 * 8 * 1000) / 1.7)).toBeLessThan(0.005);
  });

  it.each([1, 5, 33])('keeps Little’s law with %d clients', (concurrency) => {
    const { requestsPerSecond, latencyNs } = closed(
      batching({ maxBatchSize: 4, instances: 2, maxQueueDelayNs: MS }),
      law({ cv: 0.3 }),
      { concurrency, roundTripNs: 0.2 * MS, thinkNs: 0.3 * MS },
    );
    const inSystem = (requestsPerSecond * (latencyNs.mean + 0.3 * MS)) / 1e9;
    expect(relative(inSystem, concurrency)).toBeLessThan(0.02);
  });

  it('gains nothing from instances that run one after the other', () => {
    const serial = law({ interference: { perInstance: 1, batchExponent: 0 } });
    const one = closed(single, serial, { concurrency: 16 });
    const four = closed({ ...single, instances: 4 }, serial, { concurrency: 16 });
    expect(relative(four.requestsPerSecond, one.requestsPerSecond)).toBeLessThan(0.02);
    const free = closed({ ...single, instances: 4 }, law(), { concurrency: 16 });
    expect(relative(free.requestsPerSecond, 4000)).toBeLessThan(0.01);
  });

  it('runs no more executions at once than the law allows, and lets the rest queue', () => {
    const shared = closed({ ...single, instances: 4 }, law({ atOnce: 1 }), { concurrency: 8 });
    expect(shared).toEqual(closed(single, law(), { concurrency: 8 }));
    expect(shared.busyInstances).toBeCloseTo(1, 6);
    expect(shared.queueNs).toBeGreaterThan(6 * shared.computeNs);
  });

  it('lets a request overtake another on its way, and counts its way', () => {
    const { requestsPerSecond, latencyNs, queueNs, computeNs } = closed(single, law(), {
      concurrency: 1,
      roundTripNs: 0.5 * MS,
      jitterNs: 2 * MS,
    });
    expect(relative(latencyNs.mean, 3.5 * MS)).toBeLessThan(0.05);
    expect(latencyNs.p50).toBeLessThan(latencyNs.mean);
    expect(relative(requestsPerSecond, 1e9 / (latencyNs.mean + 0))).toBeLessThan(0.01);
    expect(queueNs).toBe(0);
    expect(relative(computeNs, MS)).toBeLessThan(0.001);
  });

  it('shares its requests out between two batches when the clients begin one after another', () => {
    // One execution at a time: what is answered waits while the others are executed, and stays
    // together for ever.
    const once = batching({ maxBatchSize: 64 });
    const perSample = affineLaw(0.1 * MS, MS);
    const sizesOf = ({ executions }: Simulation): number[] =>
      [...executions.keys()].filter((size) => (executions[size] as number) > 0);
    expect(sizesOf(closed(once, perSample, { concurrency: 16 }))).toEqual([1, 15]);
    const ramped = closed(once, perSample, { concurrency: 16, rampNs: 200 * MS });
    expect(Math.max(...sizesOf(ramped))).toBeLessThan(13);
  });

  it('is held back by the front end', () => {
    const { requestsPerSecond } = closed({ ...single, instances: 8 }, law({ frontEndNs: 0.4 * MS }), {
      concurrency: 32,
    });
    expect(relative(requestsPerSecond, 2500)).toBeLessThan(0.005);
  });

  it('counts requests, and batches by their samples', () => {
    const { requestsPerSecond, meanBatchSize, executions } = closed(batching({ maxBatchSize: 8 }), law(), {
      concurrency: 32,
      samplesPerRequest: 4,
    });
    expect(meanBatchSize).toBe(8);
    expect(executions).toHaveLength(9);
    expect(relative(requestsPerSecond, 2000 / 1.7)).toBeLessThan(0.005);
  });
});

describe('a simulation', () => {
  const traffic: Traffic = { kind: 'closed', concurrency: 12 };
  const options = { warmUpRequests: 100, requests: 2000, seed: 9 };
  const policy = batching({ maxBatchSize: 4, instances: 2 });

  it('gives the same figures for the same seed and others for another', () => {
    const first = simulate(policy, law({ cv: 0.5 }), traffic, options);
    expect(simulate(policy, law({ cv: 0.5 }), traffic, options)).toEqual(first);
    expect(simulate(policy, law({ cv: 0.5 }), traffic, { ...options, seed: 10 }).latencyNs).not.toEqual(
      first.latencyNs,
    );
  });

  it('orders its percentiles and keeps every latency', () => {
    const { latencyNs, latenciesNs, requests } = simulate(policy, law({ cv: 0.5 }), traffic, options);
    expect(requests).toBeGreaterThanOrEqual(2000);
    expect(requests).toBeLessThan(2004);
    expect(latenciesNs).toHaveLength(requests);
    expect(latenciesNs).toEqual(latenciesNs.slice().sort());
    const { p50, p90, p95, p99 } = latencyNs;
    expect([p50, p90, p95, p99]).toEqual([p50, p90, p95, p99].sort((a, b) => a - b));
    expect(latenciesNs.filter((ns) => ns <= p90).length / requests).toBeGreaterThanOrEqual(0.9);
  });

  it.each<[Partial<Traffic>, object, RegExp]>([
    [{ concurrency: 0 }, {}, /concurrency 0/],
    [{ roundTripNs: -1 }, {}, /roundTripNs -1/],
    [{ rampNs: -1 }, {}, /rampNs -1/],
    [{ jitterNs: Number.NaN }, {}, /jitterNs NaN/],
    [{ kind: 'open', arrivalsNs: [5, 4] }, {}, /arrival 1 at 4/],
    [{ kind: 'open', arrivalsNs: [5, 6] }, { warmUpRequests: 2 }, /over before its warm-up/],
    [{ samplesPerRequest: 5 }, {}, /5 samples/],
    [{}, { requests: 0 }, /0 requests/],
  ])('is refused: %o %o', (changes, otherOptions, reason) => {
    const given = { ...traffic, ...changes } as Traffic;
    expect(() => simulate(policy, law(), given, { ...options, ...otherOptions })).toThrow(reason);
  });
});
