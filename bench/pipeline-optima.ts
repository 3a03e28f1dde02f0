import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { foundBudgets } from '../lab/pipelines/long-search.ts';
import { pipelineProblem } from '../lab/pipelines/pipeline-problem.ts';
import { ALL_PIPELINES, pipelineAt } from '../lab/pipelines/pipelines.ts';
import type { KnownBudget } from '../lab/problems/problem.ts';

/**
 * Finds the optima of the made-up pipelines by long searches over their truth, half an hour of one
 * core, and writes them to `lab/pipelines/optima.ts`. To be run when a pipeline, or what
 * it truly does, has changed.
 */
const file = resolve(import.meta.dirname, '../src/benchmark/pipelines/optima.ts');

const found: Record<string, readonly KnownBudget[]> = {};
for (let index = 0; index < ALL_PIPELINES; index++) {
  const problem = pipelineProblem(pipelineAt(index));
  found[problem.name] = foundBudgets(problem);
  process.stderr.write(`${problem.name}\n`);
}
writeFileSync(file, textOf(found));

function textOf(all: typeof found): string {
  const rows = Object.entries(all).map(
    ([name, budgets]) =>
      `  '${name}': [\n${budgets.map((budget) => `    ${JSON.stringify(budget)},\n`).join('')}  ],\n`,
  );
  return `import type { KnownBudget } from '../problem.ts';

/**
 * The optima of the made-up pipelines within each budget, as long searches over the truth found
 * them: written by bench/pipeline-optima.ts.
 */
export const optima: Readonly<Record<string, readonly KnownBudget[]>> = {
${rows.join('')}};
`;
}
