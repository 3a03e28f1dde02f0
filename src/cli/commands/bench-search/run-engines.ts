import { TrituneError } from '../../../base/errors.ts';
import type { MakeSampler } from '../../../benchmark/contest.ts';
import { engineProblem } from '../../../benchmark/engines/engine-problem.ts';
import { ALL_ENGINES, CHOSEN_BY_ENGINES, engineAt } from '../../../benchmark/engines/engines.ts';
import { type Result, runSuite } from '../../../benchmark/suite.ts';
import type { Terminal } from '../../terminal.ts';
import type { BenchSearchOptions } from './options.ts';
import { printStarts } from './tables.ts';

/** Who searches engines, and for how many measurements. */
export interface EngineContest {
  readonly samplers: Readonly<Record<string, MakeSampler>>;
  readonly measurements: number;
}

/** Lets the samplers tune made-up engines of language models, with `--seeds` seeds from `--seed` on, and prints how they did. Errors: USAGE. */
export async function runBenchEngines(
  { samplers, measurements }: EngineContest,
  { engines = 0, seed, seeds = 1, statistics, studies }: BenchSearchOptions,
  terminal: Terminal,
): Promise<void> {
  if (engines > ALL_ENGINES)
    throw new TrituneError('USAGE', `there are ${ALL_ENGINES} made-up engines`, 'give --engines no more');
  if (studies) throw new TrituneError('USAGE', 'engines are searched, not studied', 'leave --studies out');
  const problems = Array.from({ length: engines }, (_, index) => engineProblem(engineAt(index)));
  const results: Result[] = [];
  for (let each = seed; each < seed + seeds; each++) {
    const plan = { samplers, testProblems: problems, measurements, seed: each, statistics };
    const told = await runSuite(plan, ({ sampler, outcome: { problem } }) =>
      terminal.status(`${problem.testProblem.name}, seed ${each}: ${sampler}`),
    );
    results.push(...told);
  }
  terminal.status(null);
  const names = Object.keys(samplers);
  const judged = new Set(problems.slice(CHOSEN_BY_ENGINES).map(({ name }) => name));
  const isJudged = ({ outcome }: Result): boolean => judged.has(outcome.problem.testProblem.name);
  printStarts(`${engines} made-up engines`, results, names, terminal);
  printStarts(
    'those by which constants were chosen',
    results.filter((result) => !isJudged(result)),
    names,
    terminal,
  );
  printStarts('those by which nothing was chosen', results.filter(isJudged), names, terminal);
}
