import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Measurement } from '../../src/profiler/measurement.ts';
import { isInDoubt, nextFinal } from '../../src/study/final.ts';
import { foldStudy, StudyFold } from '../../src/study/fold.ts';
import type { StudyRecord } from '../../src/study/records.ts';
import { steadySpeeds } from '../../src/study/speed/speeds.ts';
import { summarize } from '../../src/study/summary.ts';
import { candidateOf, configOf, goalOf, measured, studyStarted } from './builders.ts';

const at = (second: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();

/** The records of one finished trial; `levels` are [level, throughput, latency ms]. */
function trial(
  number: number,
  levels: readonly (readonly [number, number, number])[],
  chosen: number | null,
  feasible: boolean,
  doubt = 0.02,
): StudyRecord[] {
  const measurements = levels.map(([level, throughput, latency]) =>
    measured(level, throughput, latency, {
      throughput: { value: throughput, low: throughput * (1 - doubt), high: throughput * (1 + doubt) },
    }),
  );
  return [
    {
      type: 'trial-started',
      at: at(number * 10),
      trial: number,
      role: number === 0 ? 'baseline' : 'search',
      candidate: candidateOf(configOf(number + 1, 4), { count: number + 1 }),
    },
    {
      type: 'trial-applied',
      at: at(number * 10 + 1),
      trial: number,
      change: number === 0 ? 'none' : 'full',
      loadMs: 900,
    },
    ...measurements.map(
      (measurement, index): StudyRecord => ({
        type: 'trial-measured',
        at: at(number * 10 + 2 + index),
        trial: number,
        measurement,
      }),
    ),
    { type: 'trial-finished', at: at(number * 10 + 9), trial: number, chosen, feasible, failure: null },
  ];
}

const searched: readonly StudyRecord[] = [
  studyStarted(goalOf(10)),
  ...trial(
    0,
    [
      [1, 100, 5],
      [2, 150, 9],
      [4, 160, 20],
    ],
    1,
    true,
  ),
  ...trial(
    1,
    [
      [2, 200, 4],
      [4, 300, 9],
      [8, 400, 14],
    ],
    1,
    true,
  ),
  ...trial(
    2,
    [
      [2, 180, 12],
      [4, 500, 30],
    ],
    0,
    false,
  ),
];

const final = (trialNumber: number, measurement: Measurement, round = 1): StudyRecord => ({
  type: 'final-measured',
  at: at(60),
  trial: trialNumber,
  round,
  measurement,
});

describe('the fold', () => {
  it('gives trials, best, counts and time', () => {
    const state = foldStudy(searched);
    expect(state.trials.map((each) => each.number)).toEqual([0, 1, 2]);
    expect(state.baseline?.number).toBe(0);
    expect(state.best?.number).toBe(1);
    expect(state.counts).toEqual({ trials: 3, measurements: 8, reloads: 2, failed: 0 });
    expect(state.elapsedSeconds).toBe(29);
    expect(state.loadSeconds).toBeCloseTo(2.7);
    expect(state.finished).toBeNull();
  });

  describe('with readings in doubt', () => {
    const doubt = (...readings: readonly (readonly [number, number])[]): StudyRecord => ({
      ...{ type: 'readings-doubted', at: at(50) },
      readings: readings.map(([of, reading]) => ({ trial: of, reading })),
    });
    const higher = [...searched, ...trial(3, [[8, 350, 9]], 0, true)];

    it('looks for the best among the others, and takes the doubted where nothing else meets the goal', () => {
      expect(foldStudy(higher).best?.number).toBe(3);
      const state = foldStudy([...higher, doubt([3, 0])]);
      expect(state.best?.number).toBe(1);
      expect(state.trials.map((each) => isInDoubt(state, each))).toEqual([false, false, false, true]);
      expect(foldStudy([...higher, doubt([1, 0], [1, 1], [3, 0])]).best?.number, 'rather than the original').toBe(3);
    });

    it('lets the best stand for another of its levels, but not the original config', () => {
      const state = foldStudy([...higher, doubt([0, 1], [1, 1], [3, 0])]);
      expect(state.trials.map(({ chosen }) => chosen)).toEqual([1, 0, 0, 0]);
      expect(state.trials[1]).toBe(state.best);
      expect(state.best).toMatchObject({ number: 1, chosen: 0, feasible: true });
    });

    it('goes by what was said last, until the goal is another, and the final has read again', () => {
      expect(foldStudy([...higher, doubt([3, 0]), doubt()]).best?.number).toBe(3);
      const changed: StudyRecord = { type: 'goal-changed', at: at(51), goal: goalOf(9.5) };
      expect(foldStudy([...higher, doubt([3, 0]), changed]).best?.number).toBe(3);
      expect(foldStudy([...higher, doubt([3, 0])], goalOf(9.5)).best?.number).toBe(3);
      const read = foldStudy([...higher, doubt([3, 0]), final(3, measured(8, 340, 9))]);
      expect(read.trials.filter((each) => isInDoubt(read, each))).toEqual([]);
    });

    it('has what may be luck measured again in the final', () => {
      const far = [...searched, ...trial(3, [[8, 600, 9]], 0, true)];
      const state = foldStudy([...far, doubt([3, 0])]);
      expect(state.contender?.number).toBe(1);
      const step = nextFinal(state, 2);
      if (step?.kind !== 'measure') throw new Error('nothing to measure');
      expect([step.trial.number, ...step.rest]).toEqual([0, 3]);
    });
  });

  it('has a front of measured points that no other beats, budget or not', () => {
    const front = foldStudy(searched).front.map(({ trial: each, measurement, feasible }) => [
      each.number,
      measurement.level.value,
      feasible,
    ]);
    expect(front).toEqual([
      [1, 2, true],
      [1, 4, true],
      [1, 8, false],
      [2, 4, false],
    ]);
  });

  it('ranks anew under another budget, from the same records', () => {
    expect(foldStudy(searched, goalOf(15)).best).toMatchObject({ number: 1, chosen: 2, feasible: true });
    expect(foldStudy(searched, goalOf(40)).best).toMatchObject({ number: 2, chosen: 1 });
    expect(foldStudy(searched, goalOf(1)).best).toMatchObject({ number: 1, chosen: 0, feasible: false });
    const goal = goalOf(1, { objectives: [{ metric: 'gpu-power', weight: 1 }] });
    expect(() => foldStudy(searched, goal)).toThrowError(expect.objectContaining({ code: 'UNSUPPORTED' }));
  });

  it('knows the trial that the run ended in, and forgets its first attempt when it is started anew', () => {
    const cut = searched.slice(0, 10);
    expect(foldStudy(cut).unfinished).toMatchObject({ number: 1, levels: { kind: 'search' }, measurements: [{}] });
    expect(foldStudy([...cut, cut[7] as StudyRecord]).unfinished?.measurements).toEqual([]);
  });

  it('folds any beginning of a journal without complaint, and counts only what is finished', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: searched.length }), (length) => {
        const part = searched.slice(0, length);
        const finished = part.filter((record) => record.type === 'trial-finished').length;
        const state = foldStudy(part);
        expect(state.trials).toHaveLength(finished);
        expect(state.unfinished !== null).toBe(
          part.filter((record) => record.type === 'trial-started').length > finished,
        );
        JSON.stringify(summarize(state, 'journal.jsonl'));
      }),
    );
  });

  it('reads as contradictory, not as something else, when records are missing or twice', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray([...searched, ...searched]), (shuffled) => {
        try {
          foldStudy(shuffled);
        } catch (error) {
          expect(error).toMatchObject({ code: 'JOURNAL_INVALID' });
        }
      }),
    );
  });

  it('knows a measurement of the search that opens the final for the same when it reads its journal', () => {
    const last = searched.findLast((record) => record.type === 'trial-measured');
    if (last?.type !== 'trial-measured') throw new Error('nothing was measured');
    const records = [...searched, final(2, last.measurement), final(1, measured(4, 250, 9))];
    const journal = JSON.parse(JSON.stringify(records)) as StudyRecord[];
    const { speeds, compared } = foldStudy(journal);
    expect(speeds.course).toEqual(foldStudy(records).speeds.course);
    expect(speeds.course).toHaveLength(9);
    expect(compared).toEqual(foldStudy(records).compared);
  });

  it('does not count the time between runs', () => {
    const resumed: StudyRecord = { type: 'study-resumed', at: at(3000), server: studyStarted(goalOf(1)).server };
    const done: StudyRecord = {
      type: 'study-finished',
      at: at(3005),
      stopReason: 'x',
      interrupted: false,
      wallSeconds: 1,
    };
    expect(foldStudy([...searched, resumed, done]).elapsedSeconds).toBe(34);
  });
});

describe('a study on a machine whose speed changes', () => {
  const HOST_WORK_US = 2000;

  /** A trial read at 2, 3 and 4 requests in flight on a machine of that speed; `served` at 4 and `p99Ms` at all are of full speed. */
  function trialAt(
    number: number,
    speed: number,
    { served, p99Ms }: { readonly served: number; readonly p99Ms: number },
  ) {
    const readings = [0.8, 0.9, 1].map((share, index) => [index + 2, served * share * speed, p99Ms / speed] as const);
    return trial(number, readings, 2, p99Ms / speed <= 10).map(
      (each): StudyRecord =>
        each.type === 'trial-measured'
          ? { ...each, measurement: { ...each.measurement, hostWorkUs: HOST_WORK_US / speed } }
          : each,
    );
  }

  const records = [
    studyStarted(goalOf(10)),
    ...trialAt(0, 1, { served: 150, p99Ms: 5 }),
    ...trialAt(1, 1, { served: 300, p99Ms: 6 }),
    ...trialAt(2, 1, { served: 290, p99Ms: 6 }),
    ...trialAt(3, 1, { served: 280, p99Ms: 6 }),
    ...trialAt(4, 0.6, { served: 420, p99Ms: 7 }),
  ];

  it('compares what would have been measured at its usual speed, and reports what was', () => {
    const state = foldStudy(records);
    // 252 infer/s at a p99 of 11.7 ms, while the machine was at 0.6 of its speed.
    expect(state.contender?.number).toBe(4);
    const [reported, compared] = [state.trials[4], state.compared.trials[4]].map((each) => each?.measurements[2]);
    expect(reported?.throughput.value).toBeCloseTo(252, 9);
    expect(compared?.throughput.value).toBeGreaterThan(0.92 * 420);
    expect(compared?.throughput.value).toBeLessThan(1.08 * 420);
    expect(compared?.budgetLatencyMs.value).toBeLessThan(8);
    expect(state.compared.trials[1]?.measurements).toBe(state.trials[1]?.measurements);
  });

  it('takes the speed for steady where it is told to', () => {
    const fold = new StudyFold(steadySpeeds);
    for (const record of records) fold.add(record);
    expect(fold.state().contender?.number).toBe(1);
    expect(fold.state().compared.trials).toEqual(fold.state().trials);
  });
});

describe('the summary', () => {
  it('is the object of the contract', () => {
    const done: StudyRecord = {
      type: 'study-finished',
      at: at(90),
      stopReason: 'the list',
      interrupted: false,
      wallSeconds: 90,
    };
    const restored: StudyRecord = {
      type: 'model-restored',
      at: at(80),
      how: 'config',
      verified: true,
      detail: 'put back',
    };
    const gain: StudyRecord = { type: 'gain-decided', at: at(70), best: 1, gain: { value: 2, low: 1.9, high: 2.1 } };
    const summary = summarize(foldStudy([...searched, gain, restored, done]), 'journal.jsonl');
    expect(summary).toMatchObject({
      schemaVersion: 1,
      model: 'm',
      server: { name: 'triton', version: '2.51.0' },
      emulated: null,
      budget: { percentile: 99, latencyMs: 10 },
      feasible: true,
      best: {
        trial: 1,
        assignment: { count: 2 },
        config: configOf(2, 4),
        load: { mode: 'concurrency', value: 4 },
        throughput: { value: 300, low: 294, high: 306 },
        latencyMs: { avg: 9, p50: 9, p90: 9, p95: 9, p99: 9 },
      },
      baseline: { trial: 0, load: { value: 2 } },
      gain: { ratio: 2, low: 1.9, high: 2.1 },
      counts: { trials: 3, measurements: 8, reloads: 2, failed: 0 },
      wallSeconds: 90,
      stopReason: 'the list',
      restored: { how: 'config', verified: true },
    });
    expect(summary.pareto).toHaveLength(4);
    expect(Object.keys(summary.server)).toEqual(['name', 'version']);
  });

  it('holds no figure that JSON cannot say', () => {
    const dead = [studyStarted(goalOf(10)), ...trial(0, [[1, 0, Number.NaN]], 0, false)];
    const gain: StudyRecord = {
      type: 'gain-decided',
      at: at(70),
      best: 1,
      gain: { value: 2, low: 0, high: Number.POSITIVE_INFINITY },
    };
    for (const records of [dead, [studyStarted(goalOf(10))], [...searched, gain]]) {
      const summary = summarize(foldStudy(records), 'journal.jsonl');
      expect(JSON.parse(JSON.stringify(summary))).toEqual(summary);
    }
  });

  it('calls the baseline once itself, and best what misses least when nothing meets the goal', () => {
    const alone = summarize(foldStudy(searched.slice(0, 7)), 'j');
    expect(alone).toMatchObject({ gain: { ratio: 1, low: 1, high: 1 }, interrupted: true });
    const infeasible = summarize(foldStudy(searched, goalOf(3)), 'j');
    expect(infeasible).toMatchObject({ feasible: false, best: { trial: 1, load: { value: 2 }, feasible: false } });
  });
});
