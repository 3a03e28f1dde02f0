import { describe, expect, it } from 'vitest';
import type { Mechanism } from '#study/search/queueing/mechanisms.ts';
import { type AblationRow, ablationSummaries, pairedDifference, playAblation } from '../../lab/problems/ablation.ts';
import { listBudgetedProblems } from '../../lab/problems/problem.ts';
import { recordedGrids } from '../../lab/problems/problems.ts';
import { isNightly } from '../support/fuzz.ts';

function toRow(
  without: Mechanism | null,
  testProblem: string,
  share: number,
  study: number | null = null,
): AblationRow {
  const after = [share - 0.2, share - 0.1, share] as const;
  return {
    without,
    testProblem,
    tightness: 'tight',
    seed: 1,
    after,
    untilNear: 9,
    reloads: 5,
    promises: [],
    askMs: 10,
    study,
  };
}

describe('what a mechanism is worth', () => {
  it('is the mean difference within problems, with an interval over the models', () => {
    const rows = [0.9, 0.8, 0.95, 1].flatMap((share, model) => [
      toRow(null, `model ${model}`, share, share),
      toRow('staying', `model ${model}`, share - 0.1 - 0.01 * model, share - 0.2),
    ]);
    const [whole, without] = ablationSummaries(rows);
    expect(whole).toMatchObject({
      without: null,
      problems: 4,
      worth: null,
      study: { worstTenth: expect.closeTo(0.83, 6) },
    });
    expect(without?.after[2]?.mean).toBeCloseTo(0.7975, 6);
    const worth = without?.worth?.after[2];
    expect(worth?.value).toBeCloseTo(0.115, 6);
    expect(worth?.low).toBeGreaterThan(0.09);
    expect(worth?.high).toBeLessThan(0.14);
    expect(without?.worth?.study?.value).toBeCloseTo(0.2, 6);
  });

  it('counts the problems of one model as one', () => {
    const same = [0.1, 0.1, 0.1, -0.1].map((difference, index) => ({ group: index < 3 ? 'one' : 'other', difference }));
    expect(pairedDifference(same).value).toBeCloseTo(0, 6);
    expect(pairedDifference(same.slice(0, 3))).toEqual({
      value: expect.closeTo(0.1, 6),
      low: Number.NEGATIVE_INFINITY,
      high: Number.POSITIVE_INFINITY,
    });
  });

  it('has no study where none was played', () => {
    const [, without] = ablationSummaries([toRow(null, 'a', 0.9), toRow('false-feasible', 'a', 0.9)]);
    expect(without).toMatchObject({ study: null, worth: { study: null } });
  });

  it.runIf(isNightly)(
    'is found by playing the same problems with and without it',
    async () => {
      const grid = recordedGrids().find(({ name }) => name.startsWith('sleeper'));
      if (!grid) throw new Error('no grid');
      const rows: AblationRow[] = [];
      for (const problem of listBudgetedProblems(grid)) {
        for (const leftOut of [[], ['correction', 'false-feasible'] as const])
          rows.push(await playAblation(problem, leftOut, { seed: 3, stalls: null }));
      }
      expect(rows.map(({ without, tightness }) => [without, tightness])).toEqual(
        ['tight', 'middle', 'loose'].flatMap((tightness) => [
          [null, tightness],
          ['correction+false-feasible', tightness],
        ]),
      );
      expect(rows.every(({ askMs, untilNear }) => askMs > 0 && untilNear >= 1 && untilNear <= 13)).toBe(true);
      // What was found with them out is not what was found with them.
      const sharesOf = (without: string | null): unknown =>
        rows.filter((row) => row.without === without).map((row) => row.after);
      expect(sharesOf('correction+false-feasible')).not.toEqual(sharesOf(null));
    },
    180_000,
  );
});
