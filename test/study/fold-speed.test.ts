import { describe, expect, it } from 'vitest';
import { foldStudy, StudyFold } from '#study/records/fold.ts';
import type { StudyRecord } from '#study/records/records.ts';
import type { StudyState } from '#study/records/state.ts';
import { steadySpeeds } from '#study/speed/speeds.ts';
import { goalText } from '#study/summary/goal-words.ts';
import { trialRecords } from '../support/study-records.ts';
import { goalOf, measured, studyStarted } from './builders.ts';

describe('a study on a machine whose speed changes', () => {
  const HOST_WORK_US = 2000;

  /**
   * A trial read at 2, 3 and 4 requests in flight on a machine of that speed; `served` at 4 and
   * `p99Ms` at all are of full speed.
   */
  function trialAt(of: {
    readonly number: number;
    readonly speed: number;
    readonly served: number;
    readonly p99Ms: number;
  }): StudyRecord[] {
    const { number, speed, served, p99Ms } = of;
    const latencyMs = p99Ms / speed;
    return trialRecords({
      number,
      readings: [
        { level: 2, throughput: 0.8 * served * speed, latencyMs },
        { level: 3, throughput: 0.9 * served * speed, latencyMs },
        { level: 4, throughput: served * speed, latencyMs },
      ],
      chosen: 2,
      feasible: latencyMs <= 10,
      more: { hostWorkUs: HOST_WORK_US / speed },
    });
  }

  const records = [
    studyStarted(goalOf(10)),
    ...trialAt({ number: 0, speed: 1, served: 150, p99Ms: 5 }),
    ...trialAt({ number: 1, speed: 1, served: 300, p99Ms: 6 }),
    ...trialAt({ number: 2, speed: 1, served: 290, p99Ms: 6 }),
    ...trialAt({ number: 3, speed: 1, served: 280, p99Ms: 6 }),
    ...trialAt({ number: 4, speed: 0.6, served: 420, p99Ms: 7 }),
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

  it('says at which speed a trial meets the goal where its figures as measured say otherwise', () => {
    const texts = (state: StudyState): string[] =>
      state.trials.map((trial) => {
        const { chosen, feasible, measurements } = trial;
        return goalText(state, trial, { measurement: measurements[chosen as number], feasible });
      });
    const state = foldStudy(records);
    expect(texts(state)).toEqual([...Array<string>(4).fill('meets the goal'), 'meets the goal at the usual speed']);
    const onTwoServers = records.flatMap((record): StudyRecord[] => {
      if (record.type !== 'trial-started') return [record];
      const server = record.trial === 4 ? 'slow:8001' : 'fast:8001';
      const seen = { ...measured(4, 0.6 * 150, 5 / 0.6), hostWorkUs: HOST_WORK_US / 0.6 };
      const original: StudyRecord = {
        type: 'original-measured',
        at: record.at,
        work: 'original',
        server,
        measurement: seen,
      };
      return [...(record.trial === 4 ? [original] : []), { ...record, server }];
    });
    expect(texts(foldStudy(onTwoServers)).at(-1)).toBe("meets the goal at the first server's speed");
  });

  it('takes the speed for steady where it is told to', () => {
    const fold = new StudyFold(steadySpeeds);
    for (const record of records) fold.add(record);
    expect(fold.state().contender?.number).toBe(1);
    expect(fold.state().compared.trials).toEqual(fold.state().trials);
  });
});
