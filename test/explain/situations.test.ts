import { quantile } from 'simple-statistics';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '#base/random.ts';
import { explainModel } from '#explain/explain-model.ts';
import type { CauseCode, ModelExplanation } from '#explain/explanation.ts';
import { type CounterReading, readServed } from '#explain/readings.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { normaliseConfig } from '#triton/config/normal-form.ts';
import type { ModelStatistics, StatisticDuration } from '#triton/types.ts';
import { drawGroups, interpolate, type OpenConfig, type OpenServer, playOpen } from '../../bench/open-server.ts';

/** A GPU that takes 4 ms for one sample and a fifth of a millisecond for each further one. */
const gpu: OpenServer = {
  serviceMs: interpolate([
    [1, 4],
    [64, 17],
  ]),
  sharing: { by: 'slowdown', share: 0.2 },
  jitter: 0.03,
  stalls: 0,
  frontMs: 0.01,
};

/** A server with a name for the situation that people describe. */
interface Situation {
  readonly server?: Partial<OpenServer>;
  readonly config: OpenConfig;
  readonly batching?: ModelConfig['dynamic_batching'] | null;
  /** `evenly`: of groups or of single requests, at even times. */
  readonly arrivals: { readonly perSecond: number; readonly groups?: number; readonly evenly?: boolean };
  readonly budgetMs?: number;
}

const REQUESTS = 10_000;

const budget = { percentile: 99, latencyMs: Number.POSITIVE_INFINITY };

function toConfig({ config, batching }: Situation): ModelConfig {
  return normaliseConfig({
    name: 'model',
    backend: 'onnxruntime',
    max_batch_size: config.maxBatch,
    instance_group: [{ count: config.instances, kind: 'KIND_GPU', gpus: [0] }],
    ...(batching !== null && {
      dynamic_batching: batching ?? { max_queue_delay_microseconds: 1e3 * config.delayMs },
    }),
  });
}

function play({
  server,
  config,
  batching,
  arrivals: { perSecond, groups = 1, evenly },
}: Situation): readonly CounterReading[] {
  const random = seededRandom(7);
  const arrivalsMs = evenly
    ? Float64Array.from({ length: REQUESTS }, (_, index) => (Math.floor(index / groups) * groups * 1e3) / perSecond)
    : drawGroups(groups, perSecond, REQUESTS, random);
  // Without a batcher, each request is an execution.
  const played = batching === null ? { ...config, maxBatch: 1 } : config;
  return playOpen({ ...gpu, ...server }, played, { arrivalsMs, count: 100, random }).readings;
}

function explain(situation: Situation, readings = play(situation)): ModelExplanation {
  const { budgetMs = budget.latencyMs } = situation;
  const explained = explainModel(readServed(readings), toConfig(situation), ['other'], {
    ...budget,
    latencyMs: budgetMs,
  });
  if (!explained) throw new Error('nothing was served');
  return explained;
}

/** Situations of public threads, with the cause that their answers named. */
const situations: Readonly<Record<string, readonly [CauseCode, Situation]>> = {
  'a delay of 20 ms for batches that a low rate never fills': [
    'delay-never-fills',
    { config: { instances: 1, maxBatch: 32, delayMs: 20 }, arrivals: { perSecond: 60 } },
  ],
  'preferred batches of 16 for a few requests': [
    'preferred-never-fits',
    {
      config: { instances: 1, maxBatch: 32, delayMs: 10, preferred: 16 },
      batching: { preferred_batch_size: [16], max_queue_delay_microseconds: 10_000 },
      arrivals: { perSecond: 100 },
    },
  ],
  'a model that takes batches, executed one by one': [
    'batching-off',
    { config: { instances: 1, maxBatch: 32, delayMs: 0 }, batching: null, arrivals: { perSecond: 220 } },
  ],
  'one instance for a model that shares the GPU well': [
    'too-few-instances',
    {
      server: { sharing: { by: 'slowdown', share: 0.02 } },
      config: { instances: 1, maxBatch: 1, delayMs: 0 },
      arrivals: { perSecond: 200 },
    },
  ],
  'groups of ten requests at once': [
    'bursts',
    { config: { instances: 2, maxBatch: 8, delayMs: 0 }, arrivals: { perSecond: 200, groups: 10 } },
  ],
  'eight cameras whose frames come at the same time': [
    'bursts',
    { config: { instances: 1, maxBatch: 4, delayMs: 0 }, arrivals: { perSecond: 200, groups: 8, evenly: true } },
  ],
  'batches of at most four under load': [
    'batch-limit',
    {
      server: { sharing: { by: 'slowdown', share: 1 } },
      config: { instances: 1, maxBatch: 4, delayMs: 0 },
      arrivals: { perSecond: 700 },
    },
  ],
  'a front end that takes most of the time': [
    'front-end',
    {
      server: { serviceMs: () => 1, frontMs: 0.9 },
      config: { instances: 2, maxBatch: 8, delayMs: 0 },
      arrivals: { perSecond: 700 },
    },
  ],
  'a client that sends one request after the other': [
    'client',
    { config: { instances: 1, maxBatch: 8, delayMs: 0 }, arrivals: { perSecond: 200, evenly: true } },
  ],
  'a client that keeps the only instance busy, and waits for each answer': [
    'client',
    {
      server: { jitter: 0.002 },
      config: { instances: 1, maxBatch: 8, delayMs: 0 },
      arrivals: { perSecond: 240, evenly: true },
    },
  ],
  'a GPU that serves what it can': [
    'at-its-ceiling',
    {
      server: { serviceMs: (batch) => 2 + 2 * batch, sharing: { by: 'slowdown', share: 1 } },
      config: { instances: 2, maxBatch: 32, delayMs: 0 },
      arrivals: { perSecond: 440 },
    },
  ],
  'a service with much room': [
    'nothing',
    { config: { instances: 2, maxBatch: 8, delayMs: 0 }, arrivals: { perSecond: 60 } },
  ],
};

/** Returns readings in which the counters of all models are changed. */
const changed = (
  readings: readonly CounterReading[],
  change: (statistics: ModelStatistics, index: number) => readonly ModelStatistics[],
): CounterReading[] =>
  readings.map(({ atNs, statistics }, index) => ({
    atNs,
    statistics: statistics.flatMap((each) => change(each, index)),
  }));

const scaled = ({ count, ns }: StatisticDuration, factor: number): StatisticDuration => ({ count, ns: factor * ns });

describe('explainModel', () => {
  it.each(Object.entries(situations))('names the cause of %s', (_, [code, situation]) => {
    const { causes } = explain(situation);
    expect(causes[0]?.code).toBe(code);
    expect(causes.filter((cause) => cause.sure === 'sure' && cause.code !== code)).toEqual([]);
  });

  const quiet = (situations['a service with much room'] as readonly [CauseCode, Situation])[1];

  it('names batches that a backend fills up', () => {
    const situation: Situation = {
      server: { serviceMs: (batch) => 4 + 2 * 2 ** Math.ceil(Math.log2(batch)), jitter: 0.01 },
      config: { instances: 1, maxBatch: 16, delayMs: 0 },
      arrivals: { perSecond: 280 },
    };
    const { causes } = explain(situation);
    expect(causes.find(({ code }) => code === 'padding')?.evidence).toMatch(
      /next of (1, )?2, 4, 8(, 16)? samples: \d+/,
    );
    // Times that grow with each sample are none.
    const even: Situation = { ...situation, server: { serviceMs: (batch) => 4 + 2 * batch, jitter: 0.01 } };
    expect(explain(even).causes.map(({ code }) => code)).not.toContain('padding');
  });

  // They serve 250 requests/s, however many are busy.
  it.each([150, 180, 200])('names instances that slow each other, at %d requests/s', (perSecond) => {
    const situation: Situation = {
      server: { sharing: { by: 'slowdown', share: 1 } },
      config: { instances: 4, maxBatch: 1, delayMs: 0 },
      arrivals: { perSecond },
    };
    expect(explain(situation).causes[0]).toMatchObject({ code: 'instances-interfere', sure: 'likely' });
  });

  it('names a load in between, and counts only what came after it', () => {
    const readings = play(quiet);
    const half = readings[50]?.statistics[0]?.success.count ?? 0;
    const restarted = changed(readings, (each, index) =>
      index < 50 ? [each] : [{ ...each, success: { count: each.success.count - half, ns: each.success.ns / 2 } }],
    );
    const { causes, seconds } = explain(quiet, restarted);
    expect(causes[0]).toMatchObject({ code: 'cold-loads', sure: 'sure' });
    expect(seconds).toBeLessThan(0.6 * explain(quiet).seconds);
  });

  it('names the slow model of an ensemble', () => {
    const readings = changed(play(quiet), (each) => [
      { ...each, success: scaled(each.success, 1.2), batchStats: [] },
      { ...each, name: 'fast', success: scaled(each.success, 0.2) },
      { ...each, name: 'slow' },
    ]);
    const step = [{ model_name: 'fast' }, { model_name: 'slow' }];
    const ensemble = normaliseConfig({ name: 'model', platform: 'ensemble', ensemble_scheduling: { step } });
    const { causes, present, unknown } = explainModel(readServed(readings), ensemble, [], budget) as ModelExplanation;
    expect(causes[0]).toMatchObject({ code: 'slow-member', evidence: expect.stringContaining("'slow'") });
    expect(present).toBeNull();
    expect(unknown).toEqual([expect.stringContaining('an ensemble of fast, slow')]);
  });

  it('names sequences that wait for a place', () => {
    const readings = changed(play(quiet), (each) => [{ ...each, queue: scaled(each.success, 0.5) }]);
    const config = normaliseConfig({ name: 'model', backend: 'python', max_batch_size: 8, sequence_batching: {} });
    expect((explainModel(readServed(readings), config, [], budget) as ModelExplanation).causes[0]?.code).toBe(
      'sequences',
    );
  });

  it('names other models that slow this one', () => {
    const slower = play({ ...quiet, server: { serviceMs: (batch) => 2 * gpu.serviceMs(batch) } });
    const faster = play(quiet);
    const add = (a: StatisticDuration, b: StatisticDuration, share = 1): StatisticDuration => ({
      count: a.count + share * b.count,
      ns: a.ns + share * b.ns,
    });
    // The first half alone, the second beside another model.
    const readings = faster.map(({ atNs, statistics: [first] }, index): CounterReading => {
      const before = faster[Math.min(index, 50)]?.statistics[0] as ModelStatistics;
      const after = slower[Math.max(0, index - 50)]?.statistics[0] as ModelStatistics;
      const sizes = [...new Set([...before.batchStats, ...after.batchStats].map(({ batchSize }) => batchSize))];
      const none = { count: 0, ns: 0 };
      const own: ModelStatistics = {
        ...(first as ModelStatistics),
        inferenceCount: before.inferenceCount + after.inferenceCount,
        executionCount: before.executionCount + after.executionCount,
        success: add(before.success, after.success),
        queue: add(before.queue, after.queue),
        computeInfer: add(before.computeInfer, after.computeInfer),
        batchStats: sizes.map((batchSize) => {
          const of = (statistics: ModelStatistics) =>
            statistics.batchStats.find((each) => each.batchSize === batchSize);
          const part = (name: 'computeInput' | 'computeInfer' | 'computeOutput') =>
            add(of(before)?.[name] ?? none, of(after)?.[name] ?? none);
          return {
            batchSize,
            computeInput: part('computeInput'),
            computeInfer: part('computeInfer'),
            computeOutput: part('computeOutput'),
          };
        }),
      };
      return { atNs, statistics: [own, { ...after, name: 'other' }] };
    });
    expect(explain(quiet, readings).causes.map(({ code }) => code)).toContain('other-models');
  });

  it('predicts a ceiling that the server keeps, and says what it rests on', () => {
    const budgetMs = 25;
    const situation: Situation = {
      config: { instances: 1, maxBatch: 8, delayMs: 0 },
      batching: { default_queue_policy: { timeout_action: 'DELAY' } },
      arrivals: { perSecond: 400 },
      budgetMs,
    };
    const { present } = explain(situation);
    const { value, low, high } = present?.ceiling ?? { value: 0, low: 0, high: 0 };
    const tailAt = (perSecond: number): number => {
      const random = seededRandom(3);
      const arrivalsMs = drawGroups(1, perSecond, REQUESTS, random);
      return quantile([...playOpen(gpu, situation.config, { arrivalsMs, count: 1, random }).latenciesMs], 0.99);
    };
    expect(tailAt(0.9 * value)).toBeLessThan(budgetMs);
    expect(tailAt(1.1 * value)).toBeGreaterThan(budgetMs);
    expect(low).toBeLessThan(value);
    expect(high).toBeGreaterThan(value);
    expect(explain({ ...situation, arrivals: { perSecond: 60 } }).unknown).toContainEqual(
      expect.stringMatching(/^how long batches of more than \d take/),
    );
  });

  it.each([0.25, 0.4])('proposes nothing that slows requests of a server at %d of its ceiling', (load) => {
    const config = { instances: 1, maxBatch: 16, delayMs: 3 };
    const at = (perSecond: number) => explain({ config, arrivals: { perSecond }, budgetMs: 40 });
    const { present, proposal } = at(load * (at(300).present?.ceiling.value ?? Number.NaN));
    expect(proposal?.latencyMs?.mean).toBeLessThan(1.1 * (present?.latencyMs?.mean ?? 0));
    expect(proposal?.ceiling.value).toBeGreaterThan(present?.ceiling.value ?? Number.NaN);
  });

  it('names groups at a fixed period, and is sure of them by exact arrivals', () => {
    const config = { instances: 1, maxBatch: 1, delayMs: 0 };
    const arrivalsMs = Float64Array.from({ length: REQUESTS }, (_, index) => 80 * Math.floor(index / 8));
    const { readings } = playOpen(gpu, config, { arrivalsMs, count: 100, random: seededRandom(7) });
    const work = readServed(readings);
    const arrivalsNs = arrivalsMs.map((ms) => 1e6 * ms);
    const traced = new Map([...work].map(([name, served]) => [name, { ...served, arrivalsNs }]));
    const situation = { config, arrivals: { perSecond: 100 } };
    const limit = { ...budget, latencyMs: 100 };
    const codes = (seen: typeof work) =>
      explainModel(seen, toConfig(situation), [], limit)?.causes.map(({ code, sure }) => [code, sure]);
    expect(codes(work)?.[0]).toEqual(['bursts', 'likely']);
    expect(explainModel(work, toConfig(situation), [], limit)?.traffic.arrivals).toBe('bursts');
    expect(codes(traced)).toContainEqual(['bursts', 'sure']);
  });

  it('gives the same explanation for the same readings', () => {
    const readings = play(quiet);
    expect(explain(quiet, readings)).toEqual(explain(quiet, readings));
  });

  it('has nothing to say about a model without requests', () => {
    const [first] = play(quiet) as [CounterReading, ...CounterReading[]];
    const still = [first, { ...first, atNs: first.atNs + 1e9 }];
    expect(explainModel(readServed(still), toConfig(quiet), [], budget)).toBeNull();
  });
});
