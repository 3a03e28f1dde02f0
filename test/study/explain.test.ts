import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Measurement } from '#profiler/measurement.ts';
import type { Assignment } from '#space/types.ts';
import { explainBest } from '#study/analysis/explain/explain.ts';
import { goalOf } from './builders.ts';
import { type Served, served, studyOf, type Tried } from './explained.ts';

const original: Served = { level: 4, throughput: 380, queueMs: 7.8, computeMs: 2.5, outsideMs: 0.2, p99Ms: 12 };
const better: Served = { level: 8, throughput: 1480, queueMs: 2.5, computeMs: 2.6, outsideMs: 0.3, p99Ms: 6 };
const before: Tried = { assignment: {}, measurements: [served(original)] };
const tried = (assignment: Assignment, of: Partial<Served> = {}, more: Partial<Measurement> = {}): Tried => ({
  assignment,
  measurements: [served({ ...better, ...of }, more)],
});
const words = (...of: Parameters<typeof studyOf>): readonly string[] => explainBest(studyOf(...of))?.sentences ?? [];
const at = '2026-01-01T00:00:09.000Z';

const wasSlow =
  'Before, at concurrency 4, a request took 10.5 ms in the mean: 7.8 ms (74 %) in the queue, 2.5 ms (24 %) in compute, 0.2 ms (2 %) in network, front end and client.';
const isFast =
  'Now, at concurrency 8, a request takes 5.40 ms in the mean: 2.50 ms (46 %) in the queue, 2.60 ms (48 %) in compute, 0.30 ms (6 %) in network, front end and client.';
const fullCompute = 'The bottleneck now is compute (4 instances, 96 % busy).';
const cheaper =
  'Outside the config, try a cheaper model (quantised, an optimised graph, cheaper code), or faster cores.';

describe('the explanation of the best', () => {
  it('says where the time went, what did it, what the limit is, and what is left to try', () => {
    const oneInstance = tried({ max_batch_size: 8 }, { throughput: 390, queueMs: 17, p99Ms: 60 });
    const explanation = explainBest(studyOf([before, oneInstance, tried({ instances: 4, max_batch_size: 8 })]));
    expect(explanation?.sentences).toEqual([
      wasSlow,
      isFast,
      'Measured: instances=4 gives 3.79× (without it 390 infer/s, over the budget at p99 60 ms; trial 1, concurrency 8).',
      'Little difference alone (by the model): max_batch_size=8.',
      fullCompute,
      cheaper,
    ]);
    expect(explanation?.text).toBe(explanation?.sentences.join(' '));
    expect(explanation).toMatchObject({
      trial: 2,
      before: { totalMs: 10.5 },
      after: { parts: { queueMs: 2.5, computeMs: 2.6 } },
      credit: { knobs: [{ set: { instances: 4 }, basis: 'measured', against: 'best', trial: 1, levels: 'same' }, {}] },
      limit: { kind: 'compute', busyShare: expect.closeTo(0.962), instances: 4, words: fullCompute },
    });
  });

  it('says what larger executions do', () => {
    const batched = tried({ dynamic_batching: true }, { level: 16, throughput: 1400, batch: 4, executionMs: 2.8 });
    expect(words([before, batched])).toContain(
      'An execution serves 4 inferences in 2.8 ms, before it was 1 in 2.5 ms.',
    );
  });

  it('works at request rates: the same is served there, but later', () => {
    const rate = (ms: number): Partial<Measurement> => ({
      level: { mode: 'request-rate', value: 300 },
      openLoop: {
        scheduledLatencyMs: { avg: ms, p50: ms, p90: ms, p95: ms, p99: ms, max: ms, min: ms, std: 0 },
        lateSends: 0,
        droppedSends: 0,
        sendLatenessP50Us: 20,
        achievedRate: 300,
      },
    });
    const slow = { ...original, throughput: 300, p99Ms: 40 };
    const state = studyOf(
      [
        { assignment: {}, measurements: [served(slow, rate(11.5))], feasible: false },
        tried({ instances: 4 }, { throughput: 300, queueMs: 0, p99Ms: 4 }, rate(3)),
      ],
      { goal: goalOf(20), started: { levels: { mode: 'request-rate', low: 100, high: 300 } } },
    );
    expect(explainBest(state)?.sentences).toEqual([
      'Before, at 300 requests/s, a request took 11.5 ms in the mean: 7.8 ms (68 %) in the queue, 2.5 ms (22 %) in compute, 1.2 ms (10 %) in network, front end and client.',
      'Now, at 300 requests/s, a request takes 3.00 ms in the mean: 0.00 ms (0 %) in the queue, 2.60 ms (87 %) in compute, 0.40 ms (13 %) in network, front end and client.',
      'Measured: instances=4 takes p99 from 40 ms to 4 ms (the original, 300 requests/s).',
      'The bottleneck now is the load (300 requests/s is the highest that was allowed); nothing is saturated; p99 is 4 ms there; 4 instances, 20 % busy.',
      'Outside the config, try load levels above 300 requests/s (--request-rate).',
    ]);
  });

  it('says what it does not know when the server gives no statistics', () => {
    const blind = { server: null, serverNote: 'the call is not there' };
    const slow = { assignment: {}, measurements: [served(original, blind)] };
    expect(words([slow, tried({ instances: 2, max_batch_size: 8 }, {}, blind)])).toEqual([
      'Before, at concurrency 4, a request took 10.5 ms in the mean.',
      'Now, at concurrency 8, a request takes 5.40 ms in the mean.',
      'Where that time goes is not known: the call is not there.',
      'The effect of instances=2 max_batch_size=8 is unknown: no trial differs in that alone, and the queueing model cannot predict it.',
      'The bottleneck now is not identified; no metric is at its limit.',
    ]);
  });

  it('keeps to the original config when the final decided for it', () => {
    const rejected = { trial: 1, gain: null, reason: 'it missed the goal in the final' };
    const ending = [{ type: 'gain-decided', at, best: 0, gain: { value: 1, low: 1, high: 1 }, rejected }] as const;
    const explanation = explainBest(studyOf([before, tried({ instances: 4 })], { ending }));
    expect(explanation?.sentences).toEqual([
      'The original config stays: trial 1 seemed better, but it missed the goal in the final.',
      wasSlow.replace('Before, at', 'At').replace('took', 'takes'),
      'The bottleneck now is compute (1 instance, 95 % busy).',
      cheaper,
    ]);
    expect(explanation).toMatchObject({ trial: 0, before: null, credit: null });
    expect(words([before])[0]).toBe('The original config stays: nothing better was found.');
  });

  it('has no before where the original was not measured, and says when nothing met the goal', () => {
    const late = { ...tried({ instances: 4 }), feasible: false };
    expect(words([late], { goal: goalOf(3) })).toEqual([
      'Nothing met the goal; this is about the nearest to it.',
      'The original config was not measured, so there is no before.',
      isFast.replace('Now, at', 'At'),
      'The effect of instances=4 is unknown: no trial differs in that alone, and the queueing model cannot predict it.',
      'The bottleneck now is the latency budget (p99 6 ms of 3 ms); 4 instances, 96 % busy.',
    ]);
  });

  it('is none where nothing was measured', () => {
    expect(explainBest(studyOf([]))).toBeNull();
    const dead = tried({ instances: 2 }, { throughput: 0 }, { errorRate: 1, latencyMs: nothing });
    expect(explainBest(studyOf([{ ...dead, feasible: false }]))).toBeNull();
  });

  it('never shows a figure that is none', () => {
    // What a server gives, and what a broken one might; a trial without these two would not be the
    // best.
    const plain = fc.double({ min: 1e-6, max: 1e9, noNaN: true });
    const figure = fc.oneof(
      { weight: 4, arbitrary: plain },
      fc.constantFrom(0, -1, Number.NaN, Number.POSITIVE_INFINITY),
    );
    const figures = fc.record({
      level: fc.integer({ min: 1, max: 64 }),
      throughput: plain,
      queueMs: figure,
      computeMs: figure,
      outsideMs: figure,
      p99Ms: plain,
      batch: figure,
      executionMs: figure,
    });
    const device = fc.record({ cpuUtilizationPercent: figure, gpuUtilizationPercent: figure }, { requiredKeys: [] });
    const measurement = fc
      .tuple(figures, device, figure)
      .map(([of, device, avg]) => ({ ...served(of, { device }), latencyMs: { ...nothing, avg } }));
    const trial = fc.tuple(fc.array(measurement, { minLength: 1, maxLength: 3 }), fc.boolean());
    const knobs: readonly Assignment[] = [
      {},
      { instances: 4 },
      { instances: 4, dynamic_batching: true, queue_delay_us: 2000 },
    ];
    fc.assert(
      fc.property(
        fc.array(trial, { minLength: 1, maxLength: 3 }),
        fc.option(fc.double({ min: 0.1, max: 90, noNaN: true })),
        (trials, budget) => {
          const all = trials.map(([measurements, feasible], index) => ({
            assignment: knobs[index] as Assignment,
            measurements,
            feasible,
          }));
          const text = explainBest(studyOf(all, { goal: goalOf(budget) }))?.text ?? '';
          expect(text).not.toMatch(/NaN|undefined|Infinity|null|–|\[object|-\d/);
        },
      ),
      { numRuns: 300 },
    );
  });
});

const nothing = { avg: 0, p50: 0, p90: 0, p95: 0, p99: 0, max: 0, min: 0, std: 0 };
