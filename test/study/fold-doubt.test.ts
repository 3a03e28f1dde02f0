import { describe, expect, it } from 'vitest';
import { isInDoubt, nextFinal } from '#study/final/final.ts';
import { foldStudy } from '#study/records/fold.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { atSecond, finalRecord, searchedStudy, trialRecords } from '../support/study-records.ts';
import { goalOf, measured } from './builders.ts';

describe('the fold with readings in doubt', () => {
  const doubt = (...readings: readonly { readonly trial: number; readonly reading: number }[]): StudyRecord => ({
    type: 'readings-doubted',
    at: atSecond(50),
    readings,
  });
  /** The study with one more trial, whose only reading is within the budget. */
  const withTrial3 = (throughput: number): readonly StudyRecord[] => [
    ...searchedStudy,
    ...trialRecords({ number: 3, readings: [{ level: 8, throughput, latencyMs: 9 }], chosen: 0, feasible: true }),
  ];
  const higher = withTrial3(350);
  const ofTrial3 = { trial: 3, reading: 0 };

  it('looks for the best among the others, and takes the doubted where nothing else meets the goal', () => {
    expect(foldStudy(higher).best?.number).toBe(3);
    const state = foldStudy([...higher, doubt(ofTrial3)]);
    expect(state.best?.number).toBe(1);
    expect(state.trials.map((each) => isInDoubt(state, each))).toEqual([false, false, false, true]);
    expect(
      foldStudy([...higher, doubt({ trial: 1, reading: 0 }, { trial: 1, reading: 1 }, ofTrial3)]).best?.number,
      'rather than the original',
    ).toBe(3);
  });

  it('lets the best stand for another of its levels, but not the original config', () => {
    const state = foldStudy([...higher, doubt({ trial: 0, reading: 1 }, { trial: 1, reading: 1 }, ofTrial3)]);
    expect(state.trials.map(({ chosen }) => chosen)).toEqual([1, 0, 0, 0]);
    expect(state.trials[1]).toBe(state.best);
    expect(state.best).toMatchObject({ number: 1, chosen: 0, feasible: true });
  });

  it('goes by what was said last, until the goal is another, and the final has read again', () => {
    expect(foldStudy([...higher, doubt(ofTrial3), doubt()]).best?.number).toBe(3);
    const changed: StudyRecord = { type: 'goal-changed', at: atSecond(51), goal: goalOf(9.5) };
    expect(foldStudy([...higher, doubt(ofTrial3), changed]).best?.number).toBe(3);
    expect(foldStudy([...higher, doubt(ofTrial3)], goalOf(9.5)).best?.number).toBe(3);
    const read = foldStudy([...higher, doubt(ofTrial3), finalRecord(3, measured(8, 340, 9))]);
    expect(read.trials.filter((each) => isInDoubt(read, each))).toEqual([]);
  });

  it('has what may be luck measured again in the final', () => {
    const far = withTrial3(600);
    const state = foldStudy([...far, doubt(ofTrial3)]);
    expect(state.contender?.number).toBe(1);
    const step = nextFinal(state, 2);
    if (step?.kind !== 'measure') throw new Error('nothing to measure');
    expect([step.trial.number, ...step.rest]).toEqual([0, 3]);
  });
});
