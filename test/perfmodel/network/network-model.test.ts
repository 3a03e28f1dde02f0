import { describe, expect, it } from 'vitest';
import { toChoice } from '#perfmodel/modelled-config.ts';
import { fitNetwork } from '#perfmodel/network/fit-network.ts';
import { simulatedFigure } from '#perfmodel/simulated.ts';
import { executionNs } from '#queueing/service-law.ts';
import { model, pipeline, ratio, without } from './made.ts';

const gpu = { isOnGpu: true, device: { name: 'gpu', share: 1 } };

describe('the simulator of a pipeline', () => {
  it('predicts what instances of another stage let through, from statistics of the original config alone', () => {
    const { simulator, measured, candidate } = without(pipeline([model('a', 2), model('b', 6)]));
    const known = simulator(measured({}, 4, 16));
    const more = toChoice(candidate({ 'b/instances': 2 }));
    // b lets 167 through; with two instances twice as many, as nothing tells that they slow each
    // other much.
    expect(ratio(known.predict(toChoice(candidate({ 'a/instances': 1 })), 16)?.throughput, 1e3 / 6)).toBeLessThan(0.02);
    expect(known.predict(more, 16)?.throughput).toBeGreaterThan(265);
    const seen = simulator(measured({}, 16), measured({ 'b/instances': 3 }, 16));
    expect(ratio(seen.predict(toChoice(candidate({ 'b/instances': 4 })), 32)?.throughput, 500)).toBeLessThan(0.05);
  });

  it('shares what it learns of a stage among all candidates with that stage', () => {
    const { topology, measured, candidate } = without(pipeline([model('a', 2, 1), model('b', 6)]));
    const { laws } = fitNetwork(
      [measured({ 'a/max_batch_size': 8, 'b/instances': 4, 'b/max_batch_size': 8 }, 3, 5, 9, 24)],
      topology,
    );
    const [one, other] = [
      candidate({ 'a/max_batch_size': 8, 'b/instances': 1 }),
      candidate({ 'a/max_batch_size': 8, 'b/instances': 3 }),
    ].map((each) => toChoice(each).members?.get('a'));
    expect(one).toBe(other);
    const fitted = one && laws.get('a')?.of(one);
    for (const batch of [2, 4, 8])
      expect(ratio(fitted && executionNs(fitted, batch, 1), (2 + batch) * 1e6)).toBeLessThan(0.1);
  });

  it('takes the longest of parallel branches, and nested ensembles as one', () => {
    const steps = [
      { stage: 'a' },
      { steps: [{ stage: 'b' }, { stage: 'c', after: [0] }], after: [0] },
      { stage: 'd', after: [0] },
      { stage: 'e', after: [1, 2] },
    ];
    const models = [model('a', 1), model('b', 2), model('c', 3), model('d', 7), model('e', 1)];
    const { simulator, measured, problem } = without(pipeline(models, { fronts: [{ model: 'ensemble', steps }] }));
    const choice = toChoice(problem.baseline);
    expect(simulator(measured({}, 1)).predict(choice, 1)?.['latency-avg']).toBeCloseTo(9, 1);
  });

  it('finds what a BLS model takes itself, how often it calls, and whether in turn', () => {
    for (const inParallel of [false, true]) {
      const models = [
        model('front', 3, 0, { calls: [{ model: 'crop', perSample: 3, inParallel }] }),
        model('crop', 4, 0, { instances: [1, 2, 4] }),
      ];
      const { topology, measured, simulator, problem } = without(
        pipeline(models, { fronts: [{ model: 'front', steps: [{ stage: 'front' }] }] }),
      );
      const first = measured({ 'crop/instances': inParallel ? 4 : 1, 'front/instances': 1 }, 1, 8);
      const { calls, laws } = fitNetwork([first], topology);
      expect(calls.get('front')).toMatchObject({ inParallel, counts: [{ model: 'crop' }] });
      expect(calls.get('front')?.counts[0]?.perRequest).toBeCloseTo(3, 1);
      const own = first.choice.members?.get('front');
      const lawOfFront = own && laws.get('front')?.of(own);
      expect(ratio(lawOfFront && executionNs(lawOfFront, 1, 1), 3e6)).toBeLessThan(0.1);
      const predicted = simulator(first).predict(first.choice, 4);
      expect(ratio(predicted?.throughput, problem.truth(first.choice.candidate, 4).throughput)).toBeLessThan(0.15);
    }
  });

  it('does not take for interference what is left of calls that are known within a few per cent', () => {
    const models = [
      model('front', 0.5, 0, { calls: [{ model: 'find', inParallel: false }], instances: [1, 8] }),
      model('find', 8, 0, { instances: [1, 8] }),
    ];
    const { topology, measured, candidate } = without(
      pipeline(models, { fronts: [{ model: 'front', steps: [{ stage: 'front' }] }] }),
    );
    const many = measured({ 'front/instances': 8, 'find/instances': 8 }, 4, 8);
    const longer = many.measurements.map(({ server, ...rest }) => ({
      ...rest,
      server: server && {
        ...server,
        batches: server.batches.map((each) => ({ ...each, meanExecutionUs: 1.06 * each.meanExecutionUs })),
      },
    }));
    const { laws } = fitNetwork([measured({}, 1, 2), { ...many, measurements: longer }], topology);
    const own = toChoice(candidate({ 'front/instances': 8, 'find/instances': 8 })).members?.get('front');
    const fitted = own && laws.get('front')?.of(own);
    // Its executions take 0.5 of 8.5 ms themselves, and are read as 1 of 9.
    expect(fitted && executionNs(fitted, 1, 8)).toBeLessThan(2.5e6);
  });

  it('takes callers whose calls come back in one batch for busy at once', () => {
    const models = [
      model('front', 1, 0, { cores: 2, calls: [{ model: 'find', inParallel: false }], instances: [1, 8] }),
      model('find', 6, 0, { batches: [1, 8], delaysUs: [8000] }),
    ];
    const { topology, measured, candidate } = without(
      pipeline(models, { fronts: [{ model: 'front', steps: [{ stage: 'front' }] }] }),
    );
    const told = [
      measured({}, 1, 2),
      measured({ 'front/instances': 8, 'find/max_batch_size': 8, 'find/queue_delay_us': 8000 }, 8),
    ];
    const own = toChoice(candidate({ 'front/instances': 8 })).members?.get('front');
    const found = own && fitNetwork(told, topology).laws.get('front')?.of(own);
    // Eight of them take 4 ms each, however many execute.
    expect(found && executionNs(found, 1, 8)).toBeLessThan(7.4e6);
  });

  it('tells idle instances on cores that stages share from busy ones', () => {
    const models = [model('a', 4, 0, { cores: 2 }), model('b', 3)];
    const { topology, measured, candidate } = without(pipeline(models));
    const { laws } = fitNetwork([measured({}, 1, 4), measured({ 'a/instances': 4 }, 1, 4, 8)], topology);
    const own = toChoice(candidate({ 'a/instances': 3 })).members?.get('a');
    const fitted = own && laws.get('a')?.of(own);
    // Three of them take 1.5 times as long each, however many execute.
    for (const busy of [1, 3]) expect(ratio(fitted && executionNs(fitted, 1, busy), 6e6)).toBeLessThan(0.2);
  });

  it('finds how stages on one GPU slow each other, and predicts by it what more instances do', () => {
    const models = [model('a', 4, 0.5, gpu), model('b', 6, 0.2, gpu)];
    const { measured, simulator, candidate, problem, topology } = without(
      pipeline(models, { devices: [{ name: 'gpu', interference: 1 }] }),
    );
    const told = [measured({}, 1, 2, 8), measured({ 'a/instances': 2, 'b/instances': 2, 'b/max_batch_size': 4 }, 8)];
    const sharing = [...fitNetwork(told, topology).sharing.values()][0];
    expect(sharing?.likeliest.interference).toBeGreaterThan(0.6);
    const asked = candidate({ 'a/instances': 3, 'a/max_batch_size': 4, 'b/instances': 2, 'b/max_batch_size': 4 });
    const truth = problem.truth(asked, 16).throughput;
    expect(ratio(simulator(...told).predict(toChoice(asked), 16)?.throughput, truth)).toBeLessThan(0.15);
  });

  it('has the figures of each model that clients send to, by the mix', () => {
    const models = [model('a', 2), model('b', 10)];
    const fronts = models.map(({ name }, index) => ({
      model: name,
      steps: [{ stage: name }],
      share: index === 0 ? 3 : 1,
    }));
    const { measured, simulator, problem } = without(pipeline(models, { fronts }));
    const predicted = simulator(measured({}, 8)).predict(toChoice(problem.baseline), 8);
    const figure = (name: string) => (predicted ? simulatedFigure(predicted, name) : undefined);
    expect(ratio(figure('throughput@a'), 500)).toBeLessThan(0.01);
    expect(ratio(figure('throughput@b'), 100)).toBeLessThan(0.01);
    expect(ratio(figure('throughput'), 600)).toBeLessThan(0.01);
    expect(figure('latency-p50@a')).toBeCloseTo(12, 0);
    expect(figure('latency-p50@b')).toBeCloseTo(20, 0);
    expect(figure('throughput@c')).toBeUndefined();
  });

  it('says which stage is the bottleneck, and what one more instance of it would do', () => {
    const { measured, simulator, problem } = without(pipeline([model('a', 2), model('b', 6)]));
    const found = simulator(measured({}, 8, 16)).bottleneck?.(toChoice(problem.baseline), 16);
    expect(found?.stage).toBe('b');
    expect(found?.utilization).toBeCloseTo(1, 1);
    expect(found?.gain).toBeGreaterThan(1.6);
  });

  it('combines the uncertainty of stages along the path', () => {
    const { measured, simulator, candidate } = without(pipeline([model('a', 1), model('b', 20, 2)]));
    const known = simulator(measured({}, 2, 4));
    const unsure = known.uncertainty(toChoice(candidate({ 'b/instances': 4, 'b/max_batch_size': 8 })), 32);
    const hardly = known.uncertainty(toChoice(candidate({ 'a/instances': 4, 'a/max_batch_size': 8 })), 32);
    expect(unsure).toBeGreaterThan(3 * hardly);
  });

  it('scales usual laws to the first measurement without statistics', () => {
    const { measured, simulator, problem } = without(pipeline([model('a', 2), model('b', 6)]));
    const { choice, measurements } = measured({}, 8);
    const bare = { choice, measurements: measurements.map(({ composing: _, ...rest }) => ({ ...rest, server: null })) };
    const known = simulator(bare);
    expect(known.bottleneck?.(choice, 8)).toBeNull();
    const truth = problem.truth(problem.baseline, 8).latencyMs.avg;
    expect(ratio(known.predict(choice, 8)?.['latency-avg'], truth)).toBeLessThan(0.05);
  });
});
