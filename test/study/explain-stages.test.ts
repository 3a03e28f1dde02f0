import { describe, expect, it } from 'vitest';
import type { Measurement } from '#profiler/measurement.ts';
import type { Assignment } from '#space/types.ts';
import { explainBest } from '#study/analysis/explain/explain.ts';
import { findLimit } from '#study/analysis/explain/limit.ts';
import { limitPhrase } from '#study/analysis/explain/limit-texts.ts';
import { splitTime } from '#study/analysis/explain/time-split.ts';
import { foldStudy } from '#study/records/fold.ts';
import type { StudyRecord } from '#study/records/records.ts';
import type { TimeSplit } from '#study/summary/explanation-schema.ts';
import type { Trial } from '#study/types.ts';
import { pipeline as made, model, without } from '../perfmodel/network/made.ts';
import { jointRecords, pipeline, pipelineMeasured } from '../support/joint-records.ts';
import { goalOf, studyStarted } from './builders.ts';

const at = '2026-01-01T00:00:01.000Z';
const reasonsOf = (records: readonly StudyRecord[]) => {
  const explained = explainBest(foldStudy(records));
  return { ...explained, lines: explained?.reasons.map(({ about, words }) => `${about}: ${words}`) };
};

/**
 * A study of simulated models: the original first, each at these levels, of which the last stands
 * for it.
 */
function studyOfMade(
  { problem, topology, measured }: ReturnType<typeof without>,
  ...tried: readonly (readonly [Assignment, ...number[]])[]
): readonly StudyRecord[] {
  const original = problem.baseline;
  const space = {
    members: Object.fromEntries(topology.stages.map((stage) => [stage, { name: 'any', parameters: {} }])),
  };
  return [
    studyStarted(goalOf(null), { topology, space, original, levels: { mode: 'concurrency', low: 1, high: 512 } }),
    ...tried.flatMap(([assignment, ...levels], trial): StudyRecord[] => {
      const { choice, measurements } = measured(assignment, ...levels);
      const role = trial === 0 ? 'baseline' : 'search';
      return [
        { type: 'trial-started', at, trial, role, candidate: choice.candidate },
        ...measurements.map((measurement) => ({ type: 'trial-measured', at, trial, measurement }) as const),
        { type: 'trial-finished', at, trial, chosen: levels.length - 1, feasible: true, failure: null },
      ];
    }),
  ];
}

describe('why the best of several models is the best', () => {
  it('names the model that limits, before and now, and what one more instance of it gives', () => {
    const { problem, ...rest } = without(made([model('a', 2), model('b', 6)]));
    const { limit, bottleneck, lines } = reasonsOf(
      studyOfMade({ problem, ...rest }, [{}, 8], [{ 'b/max_batch_size': 1, 'b/instances': 2 }, 16]),
    );
    expect(limit).toMatchObject({ kind: 'compute', stage: 'b', instances: 2 });
    expect(limit?.busyShare).toBeGreaterThan(0.95);
    expect(bottleneck).toMatchObject({ stage: 'b' });
    // a serves 500 a second with its one instance, b 333 with two, and 500 with three.
    expect(Math.abs((bottleneck?.gain ?? 0) - 1.5)).toBeLessThan(0.1);
    expect(lines?.[0]).toMatch(/^before: compute in b \(1 instance, \d+ % busy; one more is expected to give \+\d+/);
    expect(lines?.at(-2)).toMatch(/^now: compute in b \(2 instances, \d+ % busy; one more is expected to give \+\d+/);
    expect(lines?.at(-1)).toMatch(/^next: one more instance of b: \+\d+.* % expected; or a cheaper model for b/);
  });

  it.each([
    [{ gain: 1, device: 'gpu 0' }, 'the GPU that the models share is used up: one more instance of any gives nothing'],
    [{ gain: 1 }, 'one more instance of any model gives nothing'],
    [{ gain: 1.3 }, 'one more is expected to give +30 %'],
  ])('says what one more instance gives where the network model finds %o', (found, words) => {
    const state = foldStudy(jointRecords(pipeline, pipelineMeasured));
    const trial = state.baseline as Trial;
    const measurement = trial.measurements[0] as Measurement;
    const split = splitTime(measurement, trial.candidate.shape) as TimeSplit;
    const bottleneck = { stage: 'encoder', utilization: 0.93, ...found };
    const limit = findLimit(state, trial, measurement, { split, bottleneck });
    expect(limit).toMatchObject({ kind: 'compute', stage: 'encoder', instances: 1 });
    expect(limitPhrase({ state, trial, measurement, split, bottleneck, limit })).toBe(
      `compute in encoder (1 instance, 93 % busy; ${words})`,
    );
  });

  it('credits each model with what its settings did', () => {
    const { credit, lines } = reasonsOf(jointRecords(pipeline, pipelineMeasured));
    const named = [
      ...(credit?.knobs ?? []).map(({ set }) => Object.keys(set)),
      Object.keys(credit?.unknown ?? {}),
    ].flat();
    expect(named.sort()).toEqual(['encoder/instances', 'tokenizer/instances']);
    expect(lines?.find((line) => line.startsWith('now'))).toContain('encoder');
  });
});
