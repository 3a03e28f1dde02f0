import { TrituneError } from '../../src/base/errors.ts';
import type { Terminal } from '../../src/cli/terminal.ts';
import type { MakeSampler } from '../problems/contest.ts';
import type { BudgetedProblem } from '../problems/problem.ts';
import { type Result, runSuite, type SuitePlan } from '../problems/suite.ts';
import type { BenchSearchOptions } from './bench-search-options.ts';

/** The samplers, and the number of measurements. */
export interface MadeUpContest {
  readonly samplers: Readonly<Record<string, MakeSampler>>;
  readonly measurements: number;
}

/** Made-up problems of one kind, in order. */
export interface MadeUp {
  /** `pipelines` */
  readonly kind: string;
  readonly requestedCount: number;
  /** The number of problems. */
  readonly most: number;
  /** The number of problems, from the first on, that were used to choose constants. */
  readonly chosenBy: number;
  readonly problemAt: (index: number) => SuitePlan['testProblems'][number];
  /** Names a problem during its search. */
  readonly formatName: (problem: BudgetedProblem) => string;
}

/**
 * The results for all problems, for those used to choose constants, and for the others, with a
 * title each.
 */
export type MadeUpResults = readonly (readonly [title: string, results: readonly Result[]])[];

/**
 * Lets the samplers search made-up problems, with `--seeds` seeds from `--seed` on. Errors: USAGE.
 */
export async function runMadeUp(
  { kind, requestedCount, most, chosenBy, problemAt, formatName }: MadeUp,
  { samplers, measurements }: MadeUpContest,
  { seed, seeds = 1, statistics, studies }: BenchSearchOptions,
  terminal: Terminal,
): Promise<MadeUpResults> {
  if (requestedCount > most)
    throw new TrituneError('USAGE', `there are only ${most} simulated ${kind}`, `give --${kind} ${most} or less`);
  if (studies) throw new TrituneError('USAGE', `--studies cannot be used with --${kind}`, 'leave out --studies');
  const testProblems = Array.from({ length: requestedCount }, (_, index) => problemAt(index));
  const results: Result[] = [];
  for (let each = seed; each < seed + seeds; each++) {
    const plan = { samplers, testProblems, measurements, seed: each, statistics };
    const shownResults = await runSuite(plan, ({ sampler, outcome: { problem } }) =>
      terminal.status(`${formatName(problem)}, seed ${each}: ${sampler}`),
    );
    results.push(...shownResults);
  }
  terminal.status(null);
  const judged = new Set(testProblems.slice(chosenBy).map(({ name }) => name));
  const isJudged = ({ outcome }: Result): boolean => judged.has(outcome.problem.testProblem.name);
  return [
    [`${requestedCount} made-up ${kind}`, results],
    ['those by which constants were chosen', results.filter((result) => !isJudged(result))],
    ['those by which nothing was chosen', results.filter(isJudged)],
  ];
}
