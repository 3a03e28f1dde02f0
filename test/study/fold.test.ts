import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { foldStudy, StudyFold } from '#study/records/fold.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { summarize } from '#study/summary/summary.ts';
import { atSecond, finalRecord, searchedStudy } from '../support/study-records.ts';
import { goalOf, measured, studyStarted } from './builders.ts';

describe('the fold', () => {
  it('gives trials, best, counts and time', () => {
    const state = foldStudy(searchedStudy);
    expect(state.trials.map((each) => each.number)).toEqual([0, 1, 2]);
    expect(state.baseline?.number).toBe(0);
    expect(state.best?.number).toBe(1);
    expect(state.counts).toEqual({ trials: 3, measurements: 8, reloads: 2, failed: 0 });
    expect(state.elapsedSeconds).toBe(29);
    expect(state.loadSeconds).toBeCloseTo(2.7);
    expect(state.finished).toBeNull();
  });

  it('gives a state that stays as it was, whenever it is looked at, while records are added', () => {
    const fold = new StudyFold();
    const states = searchedStudy.map((record) => {
      fold.add(record);
      return fold.state();
    });
    for (const [at, state] of states.entries())
      expect(JSON.stringify(state)).toBe(JSON.stringify(foldStudy(searchedStudy.slice(0, at + 1))));
  });

  it('has a front of measured points that no other beats, budget or not', () => {
    const front = foldStudy(searchedStudy).front.map(({ trial: each, measurement, feasible }) => [
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
    expect(foldStudy(searchedStudy, goalOf(15)).best).toMatchObject({ number: 1, chosen: 2, feasible: true });
    expect(foldStudy(searchedStudy, goalOf(40)).best).toMatchObject({ number: 2, chosen: 1 });
    expect(foldStudy(searchedStudy, goalOf(1)).best).toMatchObject({ number: 1, chosen: 0, feasible: false });
    const goal = goalOf(1, { objectives: [{ metric: 'gpu-power', weight: 1 }] });
    expect(() => foldStudy(searchedStudy, goal)).toThrowError(expect.objectContaining({ code: 'UNSUPPORTED' }));
  });

  it('knows the trial that the run ended in, and forgets its first attempt when it is started anew', () => {
    const cut = searchedStudy.slice(0, 10);
    expect(foldStudy(cut).unfinished).toMatchObject({ number: 1, levels: { kind: 'search' }, measurements: [{}] });
    expect(foldStudy([...cut, cut[7] as StudyRecord]).unfinished?.measurements).toEqual([]);
  });

  it('folds any beginning of a journal without complaint, and counts only what is finished', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: searchedStudy.length }), (length) => {
        const part = searchedStudy.slice(0, length);
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
      fc.property(fc.shuffledSubarray([...searchedStudy, ...searchedStudy]), (shuffled) => {
        try {
          foldStudy(shuffled);
        } catch (error) {
          expect(error).toMatchObject({ code: 'JOURNAL_INVALID' });
        }
      }),
    );
  });

  it('knows a measurement of the search that opens the final for the same when it reads its journal', () => {
    const last = searchedStudy.findLast((record) => record.type === 'trial-measured');
    if (last?.type !== 'trial-measured') throw new Error('nothing was measured');
    const records = [...searchedStudy, finalRecord(2, last.measurement), finalRecord(1, measured(4, 250, 9))];
    const journal = JSON.parse(JSON.stringify(records)) as StudyRecord[];
    const { speeds, compared } = foldStudy(journal);
    expect(speeds.course).toEqual(foldStudy(records).speeds.course);
    expect(speeds.course).toHaveLength(9);
    expect(compared).toEqual(foldStudy(records).compared);
  });

  it('does not count the time between runs', () => {
    const resumed: StudyRecord = { type: 'study-resumed', at: atSecond(3000), server: studyStarted(goalOf(1)).server };
    const done: StudyRecord = {
      type: 'study-finished',
      at: atSecond(3005),
      stopReason: 'x',
      interrupted: false,
      wallSeconds: 1,
    };
    expect(foldStudy([...searchedStudy, resumed, done]).elapsedSeconds).toBe(34);
  });
});
