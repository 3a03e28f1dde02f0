import { describe, expect, it } from 'vitest';
import { stepsByTensors } from '#queueing/network/plan.ts';
import type { Network, Step } from '#queueing/network/types.ts';
import { simulate } from '#queueing/simulate.ts';
import type { Traffic } from '#queueing/traffic.ts';
import {
  at,
  batching,
  chain,
  closed,
  latenciesMs,
  law,
  MS,
  plain,
  poisson,
  policy,
  rate,
  relative,
  run,
  whole,
} from './builders.ts';

const diamond: readonly Step[] = [
  { stage: 'a' },
  { stage: 'b', after: [0] },
  { stage: 'c', after: [0] },
  { stage: 'd', after: [1, 2] },
];
const fourStages = (...ms: [number, number, number, number]) =>
  ['a', 'b', 'c', 'd'].map((name, place) => plain(name, ms[place] as number));

describe('a network of one stage', () => {
  const traffics: [string, Traffic][] = [
    ['a closed loop', { kind: 'closed', concurrency: 24, roundTripNs: 0.2 * MS, samplesPerRequest: 2 }],
    [
      'clients with jitter, a pause and a ramp',
      { kind: 'closed', concurrency: 9, jitterNs: MS, thinkNs: MS, rampNs: MS },
    ],
    ['given arrivals', { kind: 'open', arrivalsNs: poisson(900, 3000, 5) }],
    ['a rate', { kind: 'rate', perSecond: 1500, distribution: 'poisson' }],
  ];
  it.each(traffics)('has the figures of the model alone, to the digit: %s', (_, traffic) => {
    const given = {
      policy: batching(8, { instances: 3, maxQueueDelayNs: MS, preferredBatchSizes: [4] }),
      law: law(2, 0.3, { cv: 0.4, frontEndNs: 0.1 * MS, interference: { perInstance: 0.3, batchExponent: 0.2 } }),
    };
    const options = { warmUpRequests: 150, requests: 1500, seed: 11 };
    const alone = simulate(given.policy, given.law, traffic, options);
    const device = { name: 'gpu', share: 0.7 };
    for (const stage of [
      { name: 'm', ...given },
      { name: 'm', ...given, device },
    ]) {
      const front = { name: 'm', steps: [{ stage: 'm' }], traffic, frontEndNs: given.law.frontEndNs };
      const { fronts, stages } = run(
        { stages: [stage], devices: [{ name: 'gpu', interference: 1 }], fronts: [front] },
        options,
      );
      const { name, path, ...clients } = fronts[0] as (typeof fronts)[number];
      const { requests, queueNs, computeNs, executions, executionNs, meanBatchSize, busyInstances } =
        stages[0] as (typeof stages)[number];
      const figures = { ...clients, queueNs, computeNs, executions, meanBatchSize, busyInstances };
      // On a device an execution's end is found by steps, and rounded.
      const roundedMs = (each: Float64Array): number[] => [...each].map((ns) => Math.round(ns / MS));
      expect({ ...figures, executionNs: roundedMs(executionNs) }).toEqual({
        ...alone,
        executionNs: roundedMs(alone.executionNs),
      });
      expect([name, requests]).toEqual(['m', alone.requests]);
      expect(path[0]?.computeNs).toBeCloseTo(computeNs, 3);
    }
  });
});

describe('a chain', () => {
  it('of two D/D/1 stages adds up their times, and the slower one makes the queue', () => {
    const stages = [plain('a', 2), plain('b', 3)];
    const { fronts, stages: figures } = whole({ stages, fronts: [at('f', chain('a', 'b'), 0, 2, 4, 20)] });
    // b is free at 5, 8, 11 and 25.
    expect(latenciesMs(fronts[0])).toEqual([5, 5, 6, 7]);
    expect(figures.map(({ queueNs }) => queueNs / MS)).toEqual([0, (0 + 1 + 2 + 0) / 4]);
    const [first, second] = fronts[0]?.path ?? [];
    expect([first?.computeNs, second?.queueNs, second?.computeNs]).toEqual([2 * MS, 0.75 * MS, 3 * MS]);
    expect((first?.share ?? 0) + (second?.share ?? 0)).toBeCloseTo(1, 9);
  });

  it('in a closed loop is as fast as its slowest stage', () => {
    const { fronts, stages } = run({
      stages: [plain('a', 2), plain('b', 5, { instances: 2 })],
      fronts: [closed('f', chain('a', 'b'), 16)],
    });
    expect(fronts[0]?.requestsPerSecond).toBeCloseTo(400, 3);
    expect(stages.map(({ utilization }) => Math.round(utilization * 1000))).toEqual([800, 1000]);
  });

  it.each([
    ['first', 4, 5],
    ['last', 5, 4],
  ])(
    'of D stages with Poisson arrivals waits as for its slowest alone, as Friedman says: that is not the %s',
    (_, a, b) => {
      const arrivalsNs = poisson(140, 60_000, 3);
      const traffic: Traffic = { kind: 'open', arrivalsNs };
      const { fronts } = run({
        stages: [plain('a', a), plain('b', b)],
        fronts: [{ name: 'f', steps: chain('a', 'b'), traffic }],
      });
      const rho = 0.14 * 5;
      const expected = 9 + (rho * 5) / (2 * (1 - rho));
      expect(relative((fronts[0]?.latencyNs.mean as number) / MS, expected)).toBeLessThan(0.02);
      const alone = simulate(policy(), law(5, 0), traffic, { warmUpRequests: 200, requests: 1, seed: 1 });
      // What one stage holds back the other does not: sample by sample the same waiting.
      expect(fronts[0]?.latencyNs.mean).toBeCloseTo(alone.latencyNs.mean + 4 * MS, -1);
    },
  );

  it('keeps the formula of Pollaczek and Khinchine where its parts do not wait for each other', () => {
    const { stages } = run(
      {
        stages: [plain('a', 1, { cv: 1 }), plain('b', 1, { instances: 64, cv: 1 })],
        fronts: [rate('f', chain('a', 'b'), 600, 'poisson')],
      },
      { requests: 60_000 },
    );
    expect(relative(stages[0]?.queueNs as number, (0.6 * 2 * MS) / (2 * 0.4))).toBeLessThan(0.08);
    // Infinitely many servers: the mean number of busy ones depends on nothing but the mean time.
    expect(relative(stages[1]?.busyInstances as number, 0.6)).toBeLessThan(0.03);
    expect(stages[1]?.queueNs).toBe(0);
  });
});

describe('branches', () => {
  it('take as long as the longer one, which is what the request waited for', () => {
    const { fronts } = whole({ stages: fourStages(1, 2, 7, 3), fronts: [at('f', diamond, 0)] });
    expect(latenciesMs(fronts[0])).toEqual([11]);
    expect(fronts[0]?.path.map(({ computeNs }) => computeNs / MS)).toEqual([1, 0, 7, 3]);
  });

  it('are the same as tensors', () => {
    const steps = [
      { stage: 'd', needs: ['L', 'R'], gives: ['OUT'] },
      { stage: 'b', needs: ['X'], gives: ['L'] },
      { stage: 'a', needs: ['IN'], gives: ['X'] },
      { stage: 'c', needs: ['X', 'IN'], gives: ['R'] },
    ];
    const network = { stages: fourStages(1, 2, 7, 3), fronts: [closed('f', stepsByTensors(steps, ['IN']), 7)] };
    expect(run(network).fronts[0]?.latenciesNs).toEqual(
      run({ ...network, fronts: [closed('f', diamond, 7)] }).fronts[0]?.latenciesNs,
    );
    expect(() => stepsByTensors(steps.slice(1), [])).toThrow(/nothing gives .*IN/);
  });

  it('may be ensembles themselves, and end with the last of their steps', () => {
    const steps: Step[] = [
      { stage: 'a' },
      { steps: [{ stage: 'b' }, { stage: 'c' }, { steps: chain('b', 'd'), after: [1] }], after: [0] },
      { stage: 'd', after: [1] },
    ];
    const { fronts, stages } = whole({ stages: fourStages(1, 10, 2, 3), fronts: [at('f', steps, 0)] });
    // a 1; b 10 and c 2 at once; the second b waits for the first: 8 + 10; d 3; d 3.
    expect(latenciesMs(fronts[0])).toEqual([1 + 10 + 10 + 3 + 3]);
    expect(stages.map(({ requests }) => requests)).toEqual([1, 2, 1, 2]);
    // The path: the second b queued for 8 after c.
    expect(fronts[0]?.path.map(({ queueNs }) => queueNs / MS)).toEqual([0, 8, 0, 0]);
  });

  it('carry all samples of a request through every stage', () => {
    const stages = [
      { name: 'a', policy: batching(8), law: law(1, 1) },
      { name: 'b', policy: batching(4), law: law(2, 0.5) },
    ];
    const front = {
      name: 'f',
      steps: chain('a', 'b'),
      traffic: { kind: 'open', arrivalsNs: [0], samplesPerRequest: 4 },
    } as const;
    const { fronts, stages: figures } = whole({ stages, fronts: [front] });
    expect(latenciesMs(fronts[0])).toEqual([5 + 4]);
    expect(figures.map(({ meanBatchSize }) => meanBatchSize)).toEqual([4, 4]);
    const larger = { ...front, traffic: { ...front.traffic, samplesPerRequest: 5 } };
    expect(() => whole({ stages, fronts: [larger] })).toThrow(/5 samples/);
  });
});

describe('a network that cannot be', () => {
  const network = { stages: [plain('a', 1), plain('b', 1)], fronts: [closed('f', chain('a', 'b'), 2)] };
  const device = { name: 'gpu', share: 1 };
  it.each<[Partial<Network>, RegExp]>([
    [{ fronts: [] }, /nobody sends/],
    [{ fronts: [closed('f', chain('a', 'c'), 2)] }, /'c', which is not a stage/],
    [{ fronts: [closed('f', [], 2)] }, /no steps/],
    [{ fronts: [closed('f', [{ stage: 'a', after: [0] }], 2)] }, /step 0 comes after step 0/],
    [{ fronts: [closed('f', chain('a'), 0)] }, /concurrency 0/],
    [{ fronts: [closed('f', chain('a'), 1e9)] }, /more clients and instances/],
    [{ fronts: [rate('f', chain('a'), 0)] }, /0 requests per second/],
    [{ fronts: [closed('f', chain('a'), 1, { frontEndNs: -1 })] }, /-1 ns for 'f'/],
    [{ stages: [plain('a', 1), plain('a', 1)] }, /two have the name 'a'/],
    [{ stages: [plain('a', 1, { device }), plain('b', 1)] }, /'gpu', which is not a device/],
    [
      {
        stages: [plain('a', 1, { device: { name: 'gpu', share: 2 } }), plain('b', 1)],
        devices: [{ name: 'gpu', interference: 1 }],
      },
      /takes 2 of its device/,
    ],
    [{ devices: [{ name: 'gpu', interference: -1 }] }, /interference of device 'gpu' is -1/],
    [{ devices: [{ name: 'gpu', interference: 1, atOnce: 0 }] }, /0 executions at once/],
    [
      {
        stages: [
          plain('a', 1, { calls: [{ steps: chain('b'), inParallel: true }] }),
          plain('b', 1, { calls: [{ steps: chain('a'), inParallel: true }] }),
        ],
      },
      /'a' calls itself in the end/,
    ],
    [
      {
        stages: [
          plain('a', 1, { calls: [{ steps: chain('b'), inParallel: true, requestsPerSample: -1 }] }),
          plain('b', 1),
        ],
      },
      /-1 requests of a sample/,
    ],
    [{ stages: [plain('a', 1, { instances: 0 }), plain('b', 1)] }, /0 instances/],
  ])('is refused: %o', (changes, reason) => {
    expect(() => run({ ...network, ...changes })).toThrow(reason);
  });
});
