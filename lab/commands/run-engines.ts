import type { Terminal } from '../../src/cli/terminal.ts';
import { engineProblem } from '../engines/engine-problem.ts';
import { ALL_ENGINES, CHOSEN_BY_ENGINES, engineAt } from '../engines/engines.ts';
import type { BudgetedProblem } from '../problems/problem.ts';
import type { BenchSearchOptions } from './bench-search-options.ts';
import { type MadeUpContest, runMadeUp } from './run-made-up.ts';
import { printStarts } from './tables.ts';

/**
 * Lets the samplers tune made-up engines of language models, with `--seeds` seeds from `--seed` on,
 * and prints the results. Errors: USAGE.
 */
export async function runBenchEngines(
  contest: MadeUpContest,
  options: BenchSearchOptions,
  terminal: Terminal,
): Promise<void> {
  const engines = {
    kind: 'engines',
    requestedCount: options.engines ?? 0,
    most: ALL_ENGINES,
    chosenBy: CHOSEN_BY_ENGINES,
    problemAt: (index: number) => engineProblem(engineAt(index)),
    formatName: ({ testProblem }: BudgetedProblem) => testProblem.name,
  };
  const names = Object.keys(contest.samplers);
  for (const [title, results] of await runMadeUp(engines, contest, options, terminal))
    printStarts(title, results, names, terminal);
}
