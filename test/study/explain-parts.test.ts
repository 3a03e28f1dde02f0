import { describe, expect, it } from 'vitest';
import type { Measurement } from '#profiler/measurement.ts';
import { buildCandidate } from '#space/candidate.ts';
import { launchedCandidate } from '#space/engine-candidate.ts';
import { toModelConfig } from '#space/model-configs.ts';
import { loadSpace, spaceToJson } from '#space/source/load.ts';
import { listChangedParameters, listChangedSettings } from '#study/analysis/explain/changed-parameters.ts';
import { explainBest } from '#study/analysis/explain/explain.ts';
import { splitTime } from '#study/analysis/explain/time-split.ts';
import type { LimitKind } from '#study/summary/explanation-schema.ts';
import type { Goal } from '#study/types.ts';
import { goalOf, measured, originalConfig, toCandidate } from './builders.ts';
import { candidate, type Served, served, space, studyOf, type Tried } from './explained.ts';
import { measuredAt, truth } from './simulated.ts';

/** Half of the time idle, far from every limit. */
const calm: Served = { level: 8, throughput: 800, queueMs: 0.2, computeMs: 2.5, outsideMs: 0.3, p99Ms: 6 };
const busy: Served = { ...calm, throughput: 1520, queueMs: 2 };
const batching = { instances: 4, max_batch_size: 16, dynamic_batching: true };
const limitOf = (tried: Tried, goal: Goal = goalOf(50), high = 64) =>
  explainBest(studyOf([tried], { goal, started: { levels: { mode: 'concurrency', low: 1, high } } }));
const four = (...measurements: Measurement[]): Tried => ({ assignment: { instances: 4 }, measurements });
const client = (reason: string) => ({ client: { cpuUsPerRequest: 1, eventLoopDelayMs: 0, bound: true, reason } });

describe('the limit of the best', () => {
  it.each<[LimitKind, string, Tried, Goal?, number?]>([
    [
      'client',
      'The bottleneck now is the load generator, not the server; at concurrency 16 its CPU was busy.',
      four(served(calm), served({ ...calm, level: 16 }, client('its CPU was busy'))),
    ],
    [
      'cpu',
      "The bottleneck now is the CPU of the server's machine (96 % busy); 4 instances, 95 % busy.",
      four(served(busy, { device: { cpuUtilizationPercent: 96 } })),
    ],
    ['compute', 'The bottleneck now is compute (4 instances, 95 % busy).', four(served(busy))],
    [
      'compute',
      'The bottleneck now is compute (4 instances, 95 % busy, mean batch 4 of at most 16); the GPU is 97 % used; concurrency 16 served no more (1,530 infer/s).',
      {
        assignment: batching,
        measurements: [
          served({ ...busy, batch: 4, executionMs: 10 }, { device: { gpuUtilizationPercent: 97 } }),
          served({ ...busy, level: 16, throughput: 1530 }),
        ],
      },
    ],
    [
      'queue-delay',
      "The bottleneck now is the batching delay of 2 ms (36 % of a request's time is in the queue); 4 instances, 13 % busy, mean batch 4 of at most 16.",
      {
        assignment: { ...batching, queue_delay_us: 2000 },
        measurements: [served({ ...calm, queueMs: 1.6, batch: 4 })],
      },
    ],
    [
      'none',
      'The bottleneck now is not identified; no metric is at its limit; 4 instances, 13 % busy, mean batch 4 of at most 16.',
      // Requests wait for far longer than the delay: something else holds them.
      {
        assignment: { ...batching, queue_delay_us: 2000 },
        measurements: [served({ ...calm, queueMs: 5, batch: 4 })],
      },
    ],
    [
      'latency-budget',
      'The bottleneck now is the latency budget (concurrency 16 misses it); that level served 1,200 infer/s; 4 instances, 50 % busy.',
      four(
        served(calm),
        served({ ...calm, level: 32, throughput: 1300, p99Ms: 90 }),
        served({ ...calm, level: 16, throughput: 1200, p99Ms: 51 }),
      ),
    ],
    [
      'latency-budget',
      'The bottleneck now is the latency budget (p99 47 ms of 50 ms); 4 instances, 50 % busy.',
      four(served({ ...calm, p99Ms: 47 })),
    ],
    [
      'constraint',
      'The bottleneck now is a constraint (concurrency 16 misses error-rate <= 1 %); 4 instances, 50 % busy.',
      four(served(calm), served({ ...calm, level: 16, throughput: 1200 }, { errorRate: 0.1 })),
    ],
    [
      'constraint',
      'The bottleneck now is a constraint (concurrency 8: 10 % of requests failed, 1 % are allowed); 4 instances, 50 % busy.',
      four(served(calm, { errorRate: 0.1 })),
    ],
    [
      'level-range',
      'The bottleneck now is the load (concurrency 8 is the highest that was allowed); nothing is saturated; p99 is 6 ms there; 4 instances, 95 % busy, mean batch 2 of at most 16.',
      { assignment: batching, measurements: [served({ ...busy, batch: 2, executionMs: 5 })] },
      goalOf(50),
      8,
    ],
    [
      'outside',
      "The bottleneck now is outside the model (74 % of a request's time is network, front end and client); 4 instances, 40 % busy.",
      four(served({ ...calm, computeMs: 2, outsideMs: 6.4 })),
    ],
    [
      'unseen',
      'The bottleneck now is not identified (more load, concurrency 16, serves no more); that level served 810 infer/s; no metric shows why; 4 instances, 50 % busy.',
      four(served(calm), served({ ...calm, level: 16, throughput: 810 })),
    ],
    [
      'none',
      'The bottleneck now is not identified; no metric is at its limit; 4 instances, 13 % busy, mean batch 4 of at most 16.',
      { assignment: batching, measurements: [served({ ...calm, queueMs: 1.6, batch: 4 })] },
    ],
    [
      'none',
      'The bottleneck now is not identified; no metric is at its limit; 4 instances, 50 % busy.',
      four(served(calm), served({ ...calm, level: 4, throughput: 500 })),
    ],
  ])('is %s: %s', (kind, words, tried, goal, high) => {
    expect(limitOf(tried, goal, high)?.limit).toMatchObject({ kind, words });
  });

  it('does not take the CPU of the machine that emulates for that of the server', () => {
    const hot = four(served(calm, { device: { cpuUtilizationPercent: 99 } }));
    const { started } = studyOf([hot]);
    const server = { ...started.server, emulated: 'demo' };
    expect(explainBest(studyOf([hot], { started: { server } }))?.limit).toMatchObject({ kind: 'none', cpuShare: null });
  });

  it('says nothing of instances that execute more than there is time: they are not counted rightly', () => {
    expect(limitOf(four(served({ ...calm, executionMs: 6 })))?.limit).toMatchObject({ busyShare: null, kind: 'none' });
  });
});

describe('the advice', () => {
  it('names the end of the space while the machine has room, and the memory that was short', () => {
    const full = four(served(busy, { device: { cpuUtilizationPercent: 40 } }));
    expect(limitOf(full)?.advice).toEqual([
      'more than 4 instances: the search space ends there, and the CPU is used to 40 %',
      'a cheaper model (quantised, an optimised graph, cheaper code), or faster cores',
    ]);
    const room = { device: { cpuUtilizationPercent: 40 } };
    const two = { assignment: { instances: 2 }, measurements: [served({ ...busy, throughput: 760 }, room)] };
    const failure = { kind: 'out-of-memory', reason: 'no memory' } as const;
    const refused = { assignment: { instances: 4 }, measurements: [], chosen: null, feasible: false, failure };
    expect(explainBest(studyOf([two, refused]))?.advice).toEqual([
      'a cheaper model (quantised, an optimised graph, cheaper code), or faster cores',
      'more memory: 1 candidate did not fit',
    ]);
  });

  it('names the GPU memory that more instances would need, by what one of them took, though none was refused', () => {
    const using = (instances: number, gpuMemoryMiB: number) => {
      const gpus = [{ uuid: 'GPU-1', memoryTotalBytes: 8192 * 2 ** 20 }];
      const device = { gpuUtilizationPercent: 97, gpuMemoryMiB, gpus };
      const throughput = (busy.throughput * instances) / 4;
      return { assignment: { instances }, measurements: [served({ ...busy, throughput }, { device })] };
    };
    const advised = (...tried: Tried[]) => explainBest(studyOf(tried))?.advice.filter((each) => /memory/.test(each));
    expect(advised(using(1, 2600), using(2, 4900))).toEqual([
      'a GPU with more memory: 4 instances would need about 9,500 of 8,192 MiB',
    ]);
    expect(advised(using(1, 1600), using(2, 2900))).toEqual([]);
    // One count of instances does not tell what another one takes.
    expect(advised(using(2, 4900))).toEqual([]);
  });

  it('names the next point of the front where the budget is the limit', () => {
    const tried = four(served(calm), served({ ...calm, level: 16, throughput: 1200, p99Ms: 51 }));
    expect(limitOf(tried)?.advice[0]).toBe(
      'a looser budget: at p99 51 ms the original config serves 1,200 infer/s (concurrency 16)',
    );
    const near = four(served({ ...calm, p99Ms: 47 }), served({ ...calm, level: 16, throughput: 1200 }));
    expect(limitOf(near)?.advice).toEqual([
      'a cheaper model (quantised, an optimised graph, cheaper code), or faster cores',
    ]);
  });
});

describe('what the knobs are worth', () => {
  const simulated = (assignment: Tried['assignment'], ...levels: number[]): Tried => ({
    assignment,
    measurements: levels.map((level) => measuredAt(toModelConfig(candidate(assignment)), level)),
  });
  const best = { instances: 4, max_batch_size: 16, dynamic_batching: true };
  const study = studyOf(
    [
      simulated({}, 1, 8),
      simulated({ instances: 2, dynamic_batching: true }, 16),
      simulated({ instances: 2, dynamic_batching: true, max_batch_size: 8 }, 32),
      simulated(best, 32),
    ],
    {
      goal: goalOf(1000),
    },
  );
  const credit = explainBest(study)?.credit;

  it('is what the server would truly do without them, by the queueing model', () => {
    expect(credit?.knobs.map(({ set }) => Object.keys(set)).sort()).toEqual([
      ['dynamic_batching'],
      ['instances'],
      ['max_batch_size'],
    ]);
    for (const { set, ratio, basis, without } of credit?.knobs ?? []) {
      const rest = Object.fromEntries(Object.entries(best).filter(([name]) => !(name in set)));
      const real = truth(toModelConfig(candidate(rest)), 32).requestsPerSecond;
      expect(basis).toBe('model');
      expect(Math.abs(without.throughput / real - 1)).toBeLessThan(0.1);
      expect(Math.abs(ratio / (truth(toModelConfig(candidate(best)), 32).requestsPerSecond / real) - 1)).toBeLessThan(
        0.1,
      );
    }
    expect(credit?.knobs.map(({ ratio }) => ratio)).toEqual(
      [...(credit?.knobs ?? [])].map(({ ratio }) => ratio).sort((a, b) => b - a),
    );
  });

  it('is measured where a trial differs in nothing else, and the model is not asked', () => {
    const measured = simulated({ instances: 4, max_batch_size: 16 }, 32);
    const more = studyOf([simulated({}, 1, 8), measured, simulated(best, 32)], { goal: goalOf(1000) });
    const knob = explainBest(more)?.credit?.knobs.find(({ set }) => 'dynamic_batching' in set);
    expect(knob).toMatchObject({ basis: 'measured', against: 'best', trial: 1, levels: 'same' });
    expect(knob?.without.throughput).toBe(measured.measurements[0]?.throughput.value);
  });

  it('is measured against the original where that is all there is', () => {
    const alone = four(served({ ...busy, level: 4 }));
    const both: Tried = {
      assignment: { instances: 4, threads: '2' },
      measurements: [served({ ...busy, level: 9, throughput: 1900 })],
    };
    const state = studyOf([
      { assignment: {}, measurements: [served({ ...calm, level: 4, throughput: 400 })] },
      alone,
      both,
    ]);
    expect(explainBest(state)?.credit?.knobs.find(({ set }) => 'instances' in set)).toMatchObject({
      against: 'original',
      trial: 1,
      ratio: 3.8,
      matters: 'throughput',
    });
  });

  it('is not known where other trials were at other levels, of which nobody knows whether they are the best', () => {
    const state = studyOf([
      { assignment: {}, measurements: [{ ...served({ ...calm, level: 4, throughput: 400 }), server: null }] },
      { assignment: { instances: 4 }, measurements: [{ ...served(busy), server: null }] },
    ]);
    expect(explainBest(state)?.credit).toEqual({ knobs: [], unknown: { instances: 4 } });
    const blind = (of: Served): Measurement => ({ ...served(of), server: null });
    const [low, high] = [blind({ ...calm, level: 4, throughput: 400 }), blind({ ...calm, level: 12, throughput: 390 })];
    const [own, worse] = [blind(busy), blind({ ...busy, level: 16, p99Ms: 60 })];
    const creditOf = (before: Measurement[], after: Measurement[]) =>
      explainBest(studyOf([{ assignment: {}, measurements: before }, four(...after)]))?.credit;
    expect(creditOf([low, high], [own])?.knobs).toEqual([]);
    expect(creditOf([low], [own, worse])?.knobs).toEqual([]);
    expect(creditOf([low, high], [own, worse])?.knobs[0]).toMatchObject({ levels: 'own', ratio: 3.8, trial: 0 });
  });

  it('leaves out what the original has anyway', () => {
    const { started } = study;
    const set = (assignment: Tried['assignment']) => listChangedSettings(started, candidate(assignment));
    // The original has one instance and no batcher; the delay is 0 by default.
    expect(set({ instances: 1, max_batch_size: 8 })).toEqual({ max_batch_size: 8 });
    expect(set({ instances: 4, dynamic_batching: true, queue_delay_us: 0 })).toEqual({
      instances: 4,
      dynamic_batching: true,
    });
  });

  it("leaves out an engine's defaults", () => {
    const vllm = loadSpace('engines/vllm');
    const original = launchedCandidate({ engine: { max_num_seqs: 16 } });
    const assignment = { max_num_seqs: 64, enable_prefix_caching: true, enable_chunked_prefill: true };
    const outcome = buildCandidate(vllm, original, assignment);
    if (!outcome.legal) throw new Error(outcome.reason);
    const started = { ...study.started, original, space: spaceToJson(vllm) };
    expect(listChangedSettings(started, outcome.candidate)).toEqual({ max_num_seqs: 64 });
  });

  it('goes to a part of a knob where that alone is worth as much', () => {
    const delayed = { ...batching, queue_delay_us: 2000 };
    const slow = { ...calm, throughput: 700 };
    const state = studyOf([
      { assignment: { instances: 4, max_batch_size: 16 }, measurements: [served(slow)] },
      { assignment: batching, measurements: [served({ ...slow, throughput: 705 })] },
      { assignment: delayed, measurements: [served({ ...calm, batch: 2 })] },
    ]);
    const measuredSets = explainBest(state)?.credit?.knobs.filter(({ basis }) => basis === 'measured');
    expect(measuredSets?.map(({ set }) => set)).toEqual([{ queue_delay_us: 2000 }]);
  });

  it('counts a message and its fields as one, and each field alone', () => {
    const { started } = study;
    const sets = (assignment: Tried['assignment']) =>
      listChangedParameters(started, candidate(assignment)).map(({ set }) => set);
    expect(sets({ ...best, queue_delay_us: 2000 })).toEqual([
      { instances: 4 },
      { max_batch_size: 16 },
      { queue_delay_us: 2000 },
      { dynamic_batching: true, queue_delay_us: 2000 },
    ]);
    const free = { ...space, parameters: { ...space.parameters, queue_delay_us: [0, 2000] } };
    const freely = listChangedParameters(
      { ...started, space: free },
      candidate({ dynamic_batching: true, queue_delay_us: 0 }),
    );
    expect(freely.map(({ set }) => set)).toEqual([{ dynamic_batching: true, queue_delay_us: 0 }]);
    expect(sets({ instances: 1, max_batch_size: 8 })).toEqual([{ max_batch_size: 8 }]);
    expect(listChangedParameters({ ...started, space: {} }, candidate(best))).toEqual([]);
  });
});

describe('where the time went', () => {
  const measurement = served({ ...calm, queueMs: 1, computeMs: 2, outsideMs: 1 });
  const server = measurement.server as NonNullable<Measurement['server']>;
  const cache = { hitCount: server.successCount / 2, hitUs: 10, missCount: 0, missUs: 0 };
  const { shape } = toCandidate(originalConfig);
  const { shape: ensemble } = toCandidate({ ...originalConfig, ensemble_scheduling: { step: [] } });
  const member = (share: number) => ({
    ...server,
    queueUs: 200,
    computeInputUs: 0,
    computeInferUs: 800,
    computeOutputUs: 0,
    successCount: server.successCount * share,
    model: 'part',
    version: '1',
  });

  it('counts nothing for requests that the cache answered', () => {
    expect(splitTime({ ...measurement, server: { ...server, cache } }, shape)?.parts).toEqual({
      queueMs: 0.5,
      computeMs: 1,
      outsideMs: 2.5,
    });
  });

  it("is its members' for an ensemble, as often as each was asked, and not known when they ran side by side", () => {
    const composing = [member(1), member(0.5)];
    expect(splitTime({ ...measurement, composing }, ensemble)?.parts).toEqual({
      queueMs: expect.closeTo(0.3),
      computeMs: expect.closeTo(1.2),
      outsideMs: expect.closeTo(2.5),
    });
    expect(splitTime({ ...measurement, composing: [member(3), member(2)] }, ensemble)?.parts).toBeNull();
    expect(splitTime(measurement, ensemble)?.parts).toBeNull();
  });

  it('is none where nothing was served', () => {
    expect(splitTime(measured(1, 0, 0), shape)).toBeNull();
  });
});
