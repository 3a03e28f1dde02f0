import { FINAL_ROUNDS } from '../../src/study/final/final.ts';
import type { StudyState } from '../../src/study/records/state.ts';
import { createSampler, samplerKind } from '../../src/study/search/samplers/registry.ts';
import { tune } from '../../src/tuner/tune.ts';
import { createPlan } from '../problems/contest.ts';
import type { TestProblem } from '../problems/problem.ts';
import { OfflineWorld } from '../problems/world.ts';

/**
 * Plays a whole study of the default sampler under the problem's workloads, including the final, in
 * virtual time. The goal is throughput within a budget on p99.
 */
export async function playUnder(testProblem: TestProblem, budgetMs: number, seed: number): Promise<StudyState> {
  const { space, levels, under } = testProblem;
  const goal = {
    budget: { percentile: 99, latencyMs: budgetMs },
    constraints: [],
    objectives: [{ metric: 'throughput', weight: 1 }],
  };
  const world = new OfflineWorld(testProblem, { seed, statistics: true });
  const kind = samplerKind('queueing');
  const usual = { seconds: world.usualSeconds(kind.usualTrials ?? 0), isAim: true, loads: 0, loadSeconds: 0 };
  return tune(
    {
      ...createPlan({ testProblem, tightness: 'middle', budgetMs, optimum: 0 }, goal, seed),
      usual,
      finalRounds: FINAL_ROUNDS,
    },
    {
      adapter: world.adapter,
      sampler: createSampler(kind, space, { seed, goal, levels, workloads: under?.workloads }),
      journal: { append: async () => undefined },
      clock: world.clock,
    },
    () => undefined,
    new AbortController().signal,
  );
}
