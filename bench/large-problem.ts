import { candidateOver } from '../lab/problems/grid-space.ts';
import type { BudgetedProblem } from '../lab/problems/problem.ts';
import { scenario } from '../lab/problems/scenarios.ts';

/** A made-up model with two categorical settings. */
const SCENARIO = 7;
const BUDGET_MS = 200;
const fp16 = { parameters: { precision: { string_value: 'FP16' } } };
const graphs = { optimization: { cuda: { graphs: true } } };

/**
 * A made-up model with a space of 13,056 candidates, for studies of thousands of trials. Its
 * optimum is not known.
 */
export function largeProblem(): BudgetedProblem {
  const base = scenario(SCENARIO);
  const space = candidateOver({
    instances: Array.from({ length: 16 }, (_, index) => 1 + index),
    maxBatchSize: [1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64],
    queueDelayUs: [null, 0, 100, 200, 500, 1000, 1500, 2000, 3000, 4000, 5000, 8000],
    settings: [{}, fp16, graphs, { ...fp16, ...graphs }],
  });
  return { testProblem: { ...base, space }, tightness: 'middle', budgetMs: BUDGET_MS, optimum: 1 };
}
