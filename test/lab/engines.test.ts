import { describe, expect, it } from 'vitest';
import { queueingSampler } from '#study/search/queueing/queueing.ts';
import type { Engine } from '../../lab/engines/engine.ts';
import { engineProblem } from '../../lab/engines/engine-problem.ts';
import { ALL_ENGINES, engineAt } from '../../lab/engines/engines.ts';
import { contest } from '../../lab/problems/contest.ts';
import { type BudgetedProblem, isMetAt, listBudgetedProblems, worthAt } from '../../lab/problems/problem.ts';

/** Fewer values, so that every candidate can be looked at. */
const small = (index: number): Engine => ({
  ...engineAt(index),
  axes: { ...engineAt(index).axes, max_num_seqs: [4, 8, 16, 32, 64], max_num_batched_tokens: [0, 256, 1024, 4096] },
  gridLevels: [1, 4, 8, 12, 16, 24, 32, 48, 64],
});
const problemOf = (engine: Engine): BudgetedProblem =>
  listBudgetedProblems(engineProblem(engine))[0] as BudgetedProblem;

describe('made-up engines', () => {
  it('are the same for the same index, and ask for goodput, for tokens within two times, and for requests within latency', () => {
    const engines = Array.from({ length: ALL_ENGINES }, (_, index) => engineAt(index));
    expect(new Set(engines.map(({ name }) => name)).size).toBe(ALL_ENGINES);
    expect(new Set(engines.map(({ ask }) => ask.what))).toEqual(new Set(['goodput', 'tokens', 'requests']));
    expect(engineAt(1).lengths).toEqual(engineAt(1).lengths);
    const { goal } = engineProblem(small(1));
    expect(goal?.constraints.map(({ metric }) => metric)).toEqual(['ttft-p99', 'itl-p99']);
  });

  it('refuse to start where too much memory is asked for', () => {
    const { refusal, space, baseline } = engineProblem(engineAt(4));
    expect(refusal(baseline)).toBeNull();
    const refused = [...space.assignments()].filter((assignment) => {
      const outcome = space.build(assignment);
      return outcome.legal && refusal(outcome.candidate) !== null;
    });
    expect(refused.length).toBeGreaterThan(2);
  });
});

describe('the default search on an engine with limits on TTFT and ITL', () => {
  const problem = problemOf(small(1));

  it('has an optimum that its original is far from', () => {
    const { baseline, gridLevels } = problem.testProblem;
    const own = gridLevels.map((level) => worthAt(problem, baseline, level));
    expect(Math.max(...own)).toBeLessThan(0.8);
    expect(isMetAt(problem, baseline, 1)).toBe(true);
    expect(isMetAt(problem, baseline, 64)).toBe(false);
  });

  it('finds 95 % of it within four starts', async () => {
    const { standings } = await contest(problem, queueingSampler, 8, { seed: 1, statistics: true });
    const within = standings.filter(({ reloads }) => reloads < 4).at(-1);
    expect(within?.share).toBeGreaterThan(0.95);
  }, 120_000);
});
