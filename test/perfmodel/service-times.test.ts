import { describe, expect, it } from 'vitest';
import { affineNs } from '#perfmodel/affine-line.ts';
import type { Observed } from '#perfmodel/execution-laws.ts';
import { executionTimeFactors } from '#perfmodel/execution-time-factors.ts';
import type { ExecutionPoint } from '#perfmodel/interference.ts';
import { type Choice, toChoice } from '#perfmodel/modelled-config.ts';
import type { Observation } from '#perfmodel/observation.ts';
import { fitCorrectedLine } from '#perfmodel/residual-correction.ts';
import type { MeasuredChoice } from '#perfmodel/service-model.ts';
import { fitServiceTimes } from '#perfmodel/service-times.ts';
import { affineLaw, executionNs, type ServiceLaw } from '#queueing/service-law.ts';
import { simulate } from '#queueing/simulate.ts';
import type { Candidate } from '#space/types.ts';
import { trainingSubset, trialsToFit } from '#study/search/queueing/training-subset.ts';
import { configOf, goalOf, measured, toCandidate, trialOf } from '../study/builders.ts';

const MS = 1e6;
/**
 * Up to a batch of 16 as fast as can be, three times slower from 17 on; each further busy instance
 * costs two fifths.
 */
const cliffMs = (batch: number): number => (batch <= 16 ? 5 + 0.3 * batch : 15 + 0.8 * batch);
const point = (batchSize: number, instances: number, settingsKey = 'plain', factor = 1): ExecutionPoint => ({
  settingsKey,
  batchSize,
  instances,
  busyInstances: instances,
  executionNs: MS * cliffMs(batchSize) * (1 + 0.4 * (instances - 1)) * factor,
  weight: 0.9,
});
const predictedMs = (points: readonly ExecutionPoint[], batch: number, instances: number): number => {
  const { line, correctionAt } = fitCorrectedLine(points, { settingsKey: 'plain', instances });
  return (affineNs(line, point(batch, instances)) * Math.exp(correctionAt(batch))) / MS;
};

describe('the law of a number of instances', () => {
  const ofOne = [1, 2, 4, 8, 15, 16, 22, 24, 64].map((batch) => point(batch, 1));

  it('keeps a cliff between two batch sizes that were seen', () => {
    for (const batch of [8, 16, 22, 24])
      expect(Math.abs(predictedMs(ofOne, batch, 1) / cliffMs(batch) - 1), `batch ${batch}`).toBeLessThan(0.05);
    expect(predictedMs(ofOne, 22, 1) / predictedMs(ofOne, 16, 1)).toBeGreaterThan(2);
  });

  it('knows the cliff of one instance where four have shown one batch size', () => {
    const points = [...ofOne, point(32, 4)];
    const ratio = predictedMs(points, 24, 4) / predictedMs(points, 16, 4);
    expect(ratio).toBeGreaterThan(2);
  });
});

describe('the law of more instances than were seen at rest', () => {
  /**
   * Batch sizes with their milliseconds: one instance alone, and four that were busy nearly all the
   * time.
   */
  const ofOne = { 1: 2.1, 15: 6.51 };
  const ofFour = { 1: 2.58, 8: 6.24, 11: 6.68, 14: 7.07, 16: 7.41, 18: 7.65, 20: 7.99, 21: 8.08, 30: 9.45, 32: 9.7 };
  const pointsOf = (times: Record<number, number>, instances: number, busyInstances: number): ExecutionPoint[] =>
    Object.entries(times).map(([batch, ms]) => ({
      ...point(Number(batch), instances),
      busyInstances,
      executionNs: MS * ms,
      weight: 0.5,
    }));

  it('has no execution alone that is far faster than that of one instance', () => {
    const points = [...pointsOf(ofOne, 1, 1), ...pointsOf(ofFour, 4, 3.9)];
    const { line, correctionAt } = fitCorrectedLine(points, { settingsKey: 'plain', instances: 4 });
    const alone = { ...point(15, 4), busyInstances: 1 };
    expect((affineNs(line, alone) * Math.exp(correctionAt(15))) / MS).toBeGreaterThan(0.75 * 6.51);
  });
});

describe('the law of one instance beside four that are slow even at rest', () => {
  const at = (batch: number, instances: number, busyInstances: number, ms: number): ExecutionPoint => ({
    ...point(batch, instances),
    busyInstances,
    executionNs: MS * ms,
    weight: 0.9,
  });
  const ofOne = [at(1, 1, 1, 4.85), at(2, 1, 1, 4.9), at(8, 1, 1, 16)];
  const ofFour = [at(1, 4, 3.9, 20), at(4, 4, 1, 18)];

  it('does not take what four take longer for what a batch of four takes', () => {
    const alone = predictedMs(ofOne, 4, 1);
    expect(Math.abs(predictedMs([...ofOne, ...ofFour], 4, 1) / alone - 1)).toBeLessThan(0.2);
  });
});

describe('the execution-time factors of settings', () => {
  it('do not take interference for what a setting does', () => {
    const points = [
      ...[1, 2, 4, 8].map((batch) => point(batch, 1)),
      ...[1, 2, 4, 8].map((batch) => point(batch, 4, 'other')),
    ];
    expect(Math.abs(executionTimeFactors(points, 'plain').get('other') ?? 9)).toBeLessThan(0.1);
  });

  it('find what a setting does where it is measured beside the reference', () => {
    const sizes = [1, 2, 4, 8, 16];
    const points = [
      ...sizes.map((batch) => point(batch, 1)),
      ...sizes.map((batch) => point(batch, 2)),
      ...sizes.map((batch) => point(batch, 2, 'half', 0.5)),
    ];
    expect(Math.exp(executionTimeFactors(points, 'plain').get('half') ?? 0)).toBeCloseTo(0.5, 1);
  });
});

describe('the laws of choices', () => {
  const choice = (instances: number, batch: number) =>
    toChoice(toCandidate(configOf(instances, batch, { dynamic_batching: {} })));
  const observed = choice(1, 64);
  const observation: Observation = {
    settingsKey: observed.settingsKey,
    policy: observed.policy,
    concurrency: 64,
    samplesPerRequest: 1,
    requestsPerSecond: 900,
    latencyNs: { p50: 60 * MS, p99: 70 * MS },
    roundTripNs: 0.1 * MS,
    split: { input: 0.1, output: 0.1 },
    batches: [1, 4, 8, 15, 24, 64].map((batchSize) => ({
      batchSize,
      executions: 100,
      meanExecutionNs: MS * cliffMs(batchSize),
    })),
  };

  it('begin with what is expected of settings, and give it up for what was measured', () => {
    const graphs = toChoice(
      toCandidate(configOf(1, 64, { dynamic_batching: {}, optimization: { cuda: { graphs: true } } })),
    );
    const both = toChoice(
      toCandidate(
        configOf(1, 64, { dynamic_batching: {}, optimization: { cuda: { graphs: true, busy_wait_events: true } } }),
      ),
    );
    const expectedTime = ({ value }: Candidate): number => (JSON.stringify(value).includes('graphs') ? 0.5 : 1);
    const ratioOf = (seen: readonly Observed[], asked: Choice): number => {
      const laws = fitServiceTimes(seen, undefined, expectedTime);
      if (!laws) throw new Error('no law');
      return executionNs(laws.of(asked), 8, 1) / executionNs(laws.of(observed), 8, 1);
    };
    const plain = { choice: observed, observations: [observation] };
    const slow = {
      choice: graphs,
      observations: [{ ...observation, settingsKey: graphs.settingsKey, policy: graphs.policy }],
    };
    expect(ratioOf([plain], graphs)).toBeCloseTo(0.5, 1);
    expect(ratioOf([plain, slow], graphs)).toBeGreaterThan(0.9);
    expect(ratioOf([plain, slow], both)).toBeGreaterThan(0.7);
  });

  it('are the same whichever was asked for first', () => {
    const timeOf = (first: number): number => {
      const laws = fitServiceTimes([{ choice: observed, observations: [observation] }]);
      if (!laws) throw new Error('no law');
      laws.of(choice(1, first));
      return executionNs(laws.of(choice(1, 64)), 64, 1);
    };
    expect(timeOf(1)).toBe(timeOf(64));
    expect(Math.abs(timeOf(1) / (MS * cliffMs(64)) - 1)).toBeLessThan(0.02);
  });
});

describe('the front end', () => {
  const US = 1e3;
  const choice = toChoice(toCandidate(configOf(8, 32, { dynamic_batching: {} })));
  const law = { ...affineLaw(2 * MS, 0.05 * MS), cv: 0.05, frontEndNs: 52 * US };
  /**
   * What a server with that front end would show; the busier it is, the more of the latency is
   * outside of its own statistics.
   */
  const seen = (concurrency: number): Observation => {
    const traffic = { kind: 'closed', concurrency, roundTripNs: 0.1 * MS } as const;
    const extent = { warmUpRequests: 500, requests: 4000, seed: 3 };
    const { requestsPerSecond, latencyNs } = simulate(choice.policy, law, traffic, extent);
    return {
      settingsKey: choice.settingsKey,
      policy: choice.policy,
      concurrency,
      samplesPerRequest: 1,
      requestsPerSecond,
      latencyNs: { p50: latencyNs.p50, p99: latencyNs.p99 },
      roundTripNs: 0.15 * MS + (concurrency * 52 * US) / 4,
      split: { input: 0.1, output: 0.1 },
      batches: [1, 4, 8, 16].map((batchSize) => ({
        batchSize,
        executions: 100,
        meanExecutionNs: executionNs(law, batchSize, 1),
      })),
    };
  };

  it('is what keeps a busy server from doing more, not the long way to it', () => {
    const laws = fitServiceTimes([{ choice, observations: [1, 16, 128, 256].map(seen) }]);
    expect(Math.abs((laws?.of(choice).frontEndNs ?? 0) / (52 * US) - 1)).toBeLessThan(0.15);
    expect(laws?.roundTripNs).toBeLessThan(0.3 * MS);
  });
});

describe('instances that are idle while requests wait', () => {
  const choice = toChoice(toCandidate(configOf(4, 16, { dynamic_batching: {} })));
  const seen = (law: ServiceLaw, concurrency: number): Observation => {
    const traffic = { kind: 'closed', concurrency, roundTripNs: 0.1 * MS } as const;
    const found = simulate(choice.policy, law, traffic, { warmUpRequests: 500, requests: 4000, seed: 3 });
    return {
      settingsKey: choice.settingsKey,
      policy: choice.policy,
      concurrency,
      samplesPerRequest: 1,
      requestsPerSecond: found.requestsPerSecond,
      latencyNs: { p50: found.latencyNs.p50, p99: found.latencyNs.p99 },
      roundTripNs: 0.1 * MS,
      split: { input: 0.1, output: 0.1 },
      batches: [...found.executions.entries()].flatMap(([batchSize, executions]) =>
        executions > 0 ? [{ batchSize, executions, meanExecutionNs: executionNs(law, batchSize, 1) }] : [],
      ),
    };
  };
  const lawBehind = (law: ServiceLaw) =>
    fitServiceTimes([{ choice, observations: [1, 16, 80].map((level) => seen(law, level)) }])?.of(choice);
  const law = { ...affineLaw(2 * MS, 0.07 * MS), cv: 0.05 };

  it('wait for the front end', () => {
    const found = lawBehind({ ...law, frontEndNs: 400e3 });
    expect(Math.abs((found?.frontEndNs ?? 0) / 400e3 - 1)).toBeLessThan(0.15);
  });
});

describe('what the model is made of', () => {
  const measuredAt = (number: number, throughput: number): MeasuredChoice => ({
    choice: toChoice(toCandidate(configOf(1, 4, {}), { number })),
    measurements: [measured(4, throughput, 5)],
  });
  const goal = goalOf(8);

  it('is all of a usual study', () => {
    const usual = Array.from({ length: 40 }, (_, number) => measuredAt(number, 100));
    expect(trainingSubset(usual, goal)).toEqual(usual);
  });

  it('is the first, the best and the latest of a long one, in their order', () => {
    const long = Array.from({ length: 5000 }, (_, number) =>
      measuredAt(number, number === 2500 ? 900 : 100 + number / 100),
    );
    const kept = trainingSubset(long, goal).map((each) => long.indexOf(each));
    const trials = long.map(({ choice: { candidate }, measurements }, number) =>
      trialOf(number, configOf(1, 4, {}), { candidate, measurements }),
    );
    const unmeasured = trialOf(5000, configOf(1, 4, {}), { measurements: [] });
    expect(trialsToFit([...trials, unmeasured], goal).map((each) => each.number)).toEqual(kept);
    expect(kept.length).toBeLessThanOrEqual(40);
    expect(kept).toEqual([...kept].sort((a, b) => a - b));
    expect(kept).toEqual(expect.arrayContaining([0, 2500, 4999]));
  });
});
