import { describe, expect, it } from 'vitest';
import type { Device, Network } from '#queueing/network/types.ts';
import { at, batching, chain, closed, latenciesMs, law, MS, plain, rate, relative, run, whole } from './builders.ts';

const two = (device: Omit<Device, 'name'>, share = 1, instances = 1): Network => ({
  stages: ['a', 'b'].map((name, place) => ({
    ...plain(name, [2, 3][place] as number, { instances }),
    device: { name: 'gpu', share },
  })),
  devices: [{ name: 'gpu', ...device }],
  fronts: [closed('a', chain('a'), 4), closed('b', chain('b'), 4)],
});
const ratesOf = (network: Network): number[] => run(network).fronts.map(({ requestsPerSecond }) => requestsPerSecond);

describe('two models on one device', () => {
  it('that do not disturb each other are as fast as alone', () => {
    const { fronts, devices } = run(two({ interference: 0 }));
    expect(fronts[0]?.requestsPerSecond).toBeCloseTo(500, 6);
    expect(fronts[1]?.requestsPerSecond).toBeCloseTo(1000 / 3, 6);
    expect(devices[0]?.utilization).toBeCloseTo(1, 9);
  });

  it('that share it evenly are half as fast, and by half as much at half the interference', () => {
    const [a, b] = ratesOf(two({ interference: 1 }));
    expect([a, b].map((each) => Math.round(each as number))).toEqual([250, 167]);
    const [c, d] = ratesOf(two({ interference: 0.5 }));
    expect(c).toBeCloseTo(500 / 1.5, 3);
    expect(d).toBeCloseTo(1000 / 4.5, 3);
  });

  it('that take turns alternate: one execution of each in the time of both', () => {
    const { fronts, stages } = run(two({ interference: 0, atOnce: 1 }));
    for (const { requestsPerSecond } of fronts) expect(requestsPerSecond).toBeCloseTo(200, 3);
    expect(stages.map(({ computeNs }) => Math.round(computeNs / MS))).toEqual([5, 5]);
  });

  it('disturb each other only while both are there', () => {
    // a from 0, b from 1: a has 1 ms left, which takes 2; b then has 2 ms left and is alone.
    const network = two({ interference: 1 });
    const { fronts } = whole({ ...network, fronts: [at('a', chain('a'), 0), at('b', chain('b'), 1)] });
    expect(fronts.map(latenciesMs)).toEqual([[3], [4]]);
  });

  it('have room for as many executions as their shares fit', () => {
    // Cores: four of a quarter each run freely.
    expect(ratesOf(two({ interference: 1 }, 0.25, 2)).map(Math.round)).toEqual([1000, 667]);
    const crowded = two({ interference: 1 }, 0.25, 4);
    // Of eight each is half as fast as alone: by the laws nothing of a stage disturbs the same
    // stage, and its four executions just fit.
    const [a, b] = ratesOf(crowded) as [number, number];
    expect(relative(a, 1000)).toBeLessThan(0.005);
    expect(relative(b, 2000 / 3)).toBeLessThan(0.005);
    const alone = { ...crowded, stages: crowded.stages.slice(0, 1), fronts: [closed('a', chain('a'), 16)] };
    expect(ratesOf(alone).map(Math.round)).toEqual([2000]);
  });

  it('slow each other down beside what their own instances do', () => {
    const serial = law(2, 0, { interference: { perInstance: 1, batchExponent: 0 } });
    const network = two({ interference: 1 }, 1, 2);
    const stages = network.stages.map((stage) => ({ ...stage, law: serial }));
    // Four executions under way take four times as long.
    for (const each of ratesOf({ ...network, stages })) expect(relative(each, 250)).toBeLessThan(0.02);
  });

  it('have the product form of processor sharing, whatever the spread of their times', () => {
    // Baskett, Chandy, Muntz, Palacios (1975), for one client each: weights of who is at the
    // device; think and service times count by their means.
    const [thinkMs, serviceMs] = [
      [4, 5, 8],
      [2, 3, 5],
    ] as const;
    const factorial = [1, 1, 2, 6];
    const states = Array.from({ length: 8 }, (_, bits) => {
      const isAtDevice = thinkMs.map((_, place) => ((bits >> place) & 1) === 1);
      const times = isAtDevice.map((there, place) => (there ? serviceMs : thinkMs)[place] as number);
      const weight = (factorial[isAtDevice.filter(Boolean).length] as number) * times.reduce((a, b) => a * b);
      return { isAtDevice, weight };
    });
    const total = states.reduce((sum, { weight }) => sum + weight, 0);
    const names = ['a', 'b', 'c'];
    const { fronts } = run(
      {
        stages: names.map((name, place) => ({
          ...plain(name, serviceMs[place] as number, { cv: 0.6 }),
          device: { name: 'gpu', share: 1 },
        })),
        devices: [{ name: 'gpu', interference: 1 }],
        fronts: names.map((name, place) => ({
          name,
          steps: chain(name),
          traffic: { kind: 'closed', concurrency: 1, thinkNs: (thinkMs[place] as number) * MS },
        })),
      },
      { requests: 20_000 },
    );
    for (const [place, { requestsPerSecond }] of fronts.entries()) {
      const thinking = states
        .filter(({ isAtDevice }) => !isAtDevice[place])
        .reduce((sum, { weight }) => sum + weight, 0);
      const expected = (thinking / total / (thinkMs[place] as number)) * 1000;
      expect(relative(requestsPerSecond, expected)).toBeLessThan(0.015);
    }
  });

  it('keep a load of their own: one at a rate, one in a closed loop', () => {
    const fronts = [rate('a', chain('a'), 100, 'poisson'), closed('b', chain('b'), 2)];
    const together = run({ ...two({ interference: 1 }), fronts }, { requests: 6000 });
    expect(relative(together.fronts[0]?.requestsPerSecond as number, 100)).toBeLessThan(0.05);
    // What a takes of the device, b has not: a works for 100 × 2 ms in each second.
    expect(relative(together.fronts[1]?.requestsPerSecond as number, 0.8 / 0.003)).toBeLessThan(0.02);
    expect(together.devices[0]?.utilization).toBeCloseTo(1, 6);
  });

  it('are counted each on its own, also where one is a thousand times as fast', () => {
    const stages = [plain('fast', 0.1), plain('slow', 100)];
    const { fronts } = run(
      { stages, fronts: [closed('fast', chain('fast'), 1), closed('slow', chain('slow'), 1)] },
      { warmUpRequests: 10, requests: 100 },
    );
    expect(fronts[0]?.requestsPerSecond).toBeCloseTo(10_000, 3);
    expect(fronts[1]?.requestsPerSecond).toBeCloseTo(10, 6);
    expect(fronts[1]?.requests).toBeGreaterThanOrEqual(10);
  });

  it('share the front end of the server, each with its own time', () => {
    const stages = [plain('a', 0.1, { instances: 8 }), plain('b', 0.1, { instances: 8 })];
    const fronts = [
      closed('a', chain('a'), 16, { frontEndNs: 0.5 * MS }),
      closed('b', chain('b'), 16, { frontEndNs: 1.5 * MS }),
    ];
    for (const each of ratesOf({ stages, fronts })) expect(relative(each, 500)).toBeLessThan(0.02);
  });
});

describe('a stage of an ensemble with traffic of its own', () => {
  it('serves both', () => {
    const stages = [plain('a', 1), plain('b', 1)];
    const fronts = [closed('both', chain('a', 'b'), 8), rate('own', chain('b'), 250)];
    const { fronts: figures, stages: busy } = run({ stages, fronts }, { requests: 4000 });
    expect(relative(figures[0]?.requestsPerSecond as number, 750)).toBeLessThan(0.01);
    expect(relative(busy[1]?.requestsPerSecond as number, 1000)).toBeLessThan(0.01);
  });
});

describe('a model that calls others', () => {
  const caller = (
    more: Partial<Network['stages'][number]['calls'] extends readonly (infer T)[] | undefined ? T : never>,
    instances = 1,
  ) => plain('bls', 1, { instances, calls: [{ steps: chain('crop'), inParallel: false, ...more }] });
  const alone = [at('f', chain('bls'), 0)];

  it('has its instance busy until the replies are there, so that one of them serves one request at a time', () => {
    const stages = (instances: number) => [caller({}, instances), plain('crop', 4, { instances: 8 })];
    const { fronts, stages: figures } = run({ stages: stages(1), fronts: [closed('f', chain('bls'), 8)] });
    expect(fronts[0]?.requestsPerSecond).toBeCloseTo(200, 6);
    expect(figures[0]?.utilization).toBeCloseTo(1, 9);
    expect(figures[1]?.utilization).toBeCloseTo(0.8 / 8, 3);
    expect([figures[0]?.computeNs, figures[0]?.callNs]).toEqual([5 * MS, 4 * MS]);
    const four = run({ stages: stages(4), fronts: [closed('f', chain('bls'), 8)] });
    expect(four.fronts[0]?.requestsPerSecond).toBeCloseTo(800, 6);
  });

  it('makes its calls one after the other, or all at once', () => {
    const crop = plain('crop', 4, { instances: 3 });
    const latency = (inParallel: boolean): number[] =>
      latenciesMs(whole({ stages: [caller({ inParallel, requestsPerSample: 3 }), crop], fronts: alone }).fronts[0]);
    expect(latency(false)).toEqual([1 + 3 * 4]);
    expect(latency(true)).toEqual([1 + 4]);
  });

  it('lets the called model form batches of what it sends at once', () => {
    const crop = { name: 'crop', policy: batching(8, { maxQueueDelayNs: MS }), law: law(2, 0.5) };
    const { fronts, stages } = whole({
      stages: [caller({ inParallel: true, requestsPerSample: 8 }), crop],
      fronts: alone,
    });
    expect(stages[1]?.meanBatchSize).toBe(8);
    expect(latenciesMs(fronts[0])).toEqual([1 + 6]);
  });

  it('sends as many requests as asked for on average, none where that is 0', () => {
    const network = (requestsPerSample: number): Network => ({
      stages: [caller({ requestsPerSample }), plain('crop', 1)],
      fronts: [at('f', chain('bls'), ...Array.from({ length: 10 }, (_, index) => 20 * index))],
    });
    expect([0, 0.5, 2.5].map((each) => whole(network(each)).stages[1]?.requests)).toEqual([0, 5, 25]);
    expect(latenciesMs(whole(network(0)).fronts[0])).toEqual(new Array(10).fill(1));
    expect(new Set(latenciesMs(whole(network(2.5)).fronts[0]))).toEqual(new Set([3, 4]));
  });

  it('calls ensembles, several one after the other, and says where the time went', () => {
    const bls = plain('bls', 1, {
      calls: [
        { steps: [{ stage: 'b' }, { stage: 'c' }], inParallel: false },
        { steps: chain('c'), inParallel: true, requestsPerSample: 2 },
      ],
    });
    const { fronts } = whole({ stages: [bls, plain('b', 2), plain('c', 5)], fronts: alone });
    // 1 of its own; b and c at once: 5; two c on one instance: 10.
    expect(latenciesMs(fronts[0])).toEqual([16]);
    const path = fronts[0]?.path.map(({ queueNs, computeNs }) => [queueNs / MS, computeNs / MS]);
    expect(path).toEqual([
      [0, 1],
      [0, 0],
      [5, 10],
    ]);
  });

  it('passes the samples of a request on when it does not split them', () => {
    const bls = { ...caller({}), policy: batching(4), law: law(1, 0) };
    const crop = { name: 'crop', policy: batching(8), law: law(1, 1) };
    const front = {
      name: 'f',
      steps: chain('bls'),
      traffic: { kind: 'open', arrivalsNs: [0], samplesPerRequest: 3 },
    } as const;
    expect(whole({ stages: [bls, crop], fronts: [front] }).stages[1]?.meanBatchSize).toBe(3);
  });

  it('leaves its device to others while it waits', () => {
    const onGpu = { device: { name: 'gpu', share: 1 } };
    const stages = [
      { ...caller({}), ...onGpu },
      { ...plain('crop', 4), ...onGpu },
    ];
    const { fronts, devices } = run({
      stages,
      devices: [{ name: 'gpu', interference: 1 }],
      fronts: [closed('f', chain('bls'), 1)],
    });
    expect(fronts[0]?.requestsPerSecond).toBeCloseTo(200, 6);
    expect(devices[0]?.utilization).toBeCloseTo(1, 9);
  });
});
