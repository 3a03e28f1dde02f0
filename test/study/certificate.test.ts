import { describe, expect, it } from 'vitest';
import { queueingSampler } from '#study/search/queueing/queueing.ts';
import { describeCertificate } from '#study/summary/certificate-words.ts';
import type { Sampler } from '#study/types.ts';
import { type BudgetedProblem, listBudgetedProblems } from '../../lab/problems/problem.ts';
import { recordedGrids } from '../../lab/problems/problems.ts';
import { playStudy, type WholeStudyOutcome } from '../../lab/problems/whole-study.ts';

const grid = recordedGrids().find(({ name }) => name.startsWith('precision'));
if (!grid) throw new Error('no grid');
const [, problem] = listBudgetedProblems(grid) as [BudgetedProblem, BudgetedProblem];
const play = (certify?: number, change = (sampler: Sampler): Sampler => sampler): Promise<WholeStudyOutcome> =>
  playStudy(problem, (space, setup) => change(queueingSampler(space, { ...setup, certify })), {
    seed: 1,
    statistics: true,
  });

describe('the certificate of a study', () => {
  it('holds, and a search that is to reach a smaller one goes on until it does', async () => {
    const plain = await play();
    const gain = plain.certificate?.gain ?? 0;
    expect(plain.certificate).toMatchObject({ confidence: 0.95, reason: null });
    expect(gain).toBeGreaterThan(0);
    expect(plain.configShare * (1 + gain)).toBeGreaterThan(0.99);
    const longer = await play(gain / 1.5);
    expect(longer.certificate?.gain).toBeLessThan(gain);
    expect(longer.measurements).toBeGreaterThan(plain.measurements);
  }, 60_000);

  it('is refused after too few trials, and where the space is a sample', async () => {
    const short = await play(undefined, (sampler) => ({
      ...sampler,
      ask: (history, remaining) =>
        history.trials.length < 2 ? sampler.ask(history, remaining) : { kind: 'stop', reason: 'enough' },
    }));
    expect(short.certificate).toMatchObject({
      gain: null,
      reason: 'a config that was not measured may still be more than twice as good',
    });
    const { baseline, levels, space } = grid;
    const sampler = queueingSampler(
      { ...space, assignments: () => Array.from({ length: 5000 }, () => baseline.assignment) },
      { seed: 1, goal: { budget: null, constraints: [], objectives: [{ metric: 'throughput', weight: 1 }] }, levels },
    );
    const refused = sampler.certify?.({ trials: [] }, baseline, { value: 1 });
    expect(refused).toMatchObject({ gain: null, reason: expect.stringContaining('the space has more than the') });
  }, 60_000);

  it('reads as a sentence', () => {
    const known = { confidence: 0.95, reason: null, configs: 80 };
    expect(describeCertificate({ ...known, gain: 0.0617 })).toBe(
      'none of the 80 configs of the space is more than 6.2 % better (95 % sure)',
    );
    expect(describeCertificate({ ...known, gain: 0 })).toBe(
      'none of the 80 configs of the space is better (95 % sure)',
    );
    expect(describeCertificate({ ...known, gain: null, reason: 'the space is too large' })).toBe(
      'not known: the space is too large',
    );
  });
});
