import type { Terminal } from '../../src/cli/terminal.ts';
import { pipelineProblem } from '../pipelines/pipeline-problem.ts';
import { ALL_PIPELINES, CHOSEN_BY, pipelineAt } from '../pipelines/pipelines.ts';
import type { BudgetedProblem } from '../problems/problem.ts';
import type { BenchSearchOptions } from './bench-search-options.ts';
import { type MadeUpContest, runMadeUp } from './run-made-up.ts';
import { printShares, tellChances } from './tables.ts';

/**
 * Lets the samplers tune made-up pipelines, with `--seeds` seeds from `--seed` on, and prints the
 * results. Errors: USAGE.
 */
export async function runBenchPipelines(
  contest: MadeUpContest,
  options: BenchSearchOptions,
  terminal: Terminal,
): Promise<void> {
  const pipelines = {
    kind: 'pipelines',
    requestedCount: options.pipelines ?? 0,
    most: ALL_PIPELINES,
    chosenBy: CHOSEN_BY,
    problemAt: (index: number) => pipelineProblem(pipelineAt(index)),
    formatName: ({ testProblem, tightness }: BudgetedProblem) => `${testProblem.name}, ${tightness} budget`,
  };
  const names = Object.keys(contest.samplers);
  const upResults = await runMadeUp(pipelines, contest, options, terminal);
  for (const [title, results] of upResults) printShares(title, results, names, contest.measurements, terminal);
  const [[, all] = ['', []]] = upResults;
  terminal.print('');
  tellChances(all, names, terminal);
}
