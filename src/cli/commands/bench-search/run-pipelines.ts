import { TrituneError } from '../../../base/errors.ts';
import type { MakeSampler } from '../../../benchmark/contest.ts';
import { pipelineProblem } from '../../../benchmark/pipelines/pipeline-problem.ts';
import { ALL_PIPELINES, CHOSEN_BY, pipelineAt } from '../../../benchmark/pipelines/pipelines.ts';
import { type Result, runSuite } from '../../../benchmark/suite.ts';
import type { Terminal } from '../../terminal.ts';
import type { BenchSearchOptions } from './options.ts';
import { printShares, tellChances } from './tables.ts';

/** Who searches pipelines, and for how long. */
export interface PipelineContest {
  readonly samplers: Readonly<Record<string, MakeSampler>>;
  readonly measurements: number;
}

/** Lets the samplers tune made-up pipelines, with `--seeds` seeds from `--seed` on, and prints how they did. Errors: USAGE. */
export async function runBenchPipelines(
  { samplers, measurements }: PipelineContest,
  { pipelines = 0, seed, seeds = 1, statistics, studies }: BenchSearchOptions,
  terminal: Terminal,
): Promise<void> {
  if (pipelines > ALL_PIPELINES)
    throw new TrituneError('USAGE', `there are ${ALL_PIPELINES} made-up pipelines`, 'give --pipelines no more');
  if (studies) throw new TrituneError('USAGE', 'pipelines are searched, not studied', 'leave --studies out');
  const problems = Array.from({ length: pipelines }, (_, index) => pipelineProblem(pipelineAt(index)));
  const results: Result[] = [];
  for (let each = seed; each < seed + seeds; each++) {
    const plan = { samplers, testProblems: problems, measurements, seed: each, statistics };
    const told = await runSuite(plan, ({ sampler, outcome: { problem } }) =>
      terminal.status(`${problem.testProblem.name}, ${problem.tightness} budget, seed ${each}: ${sampler}`),
    );
    results.push(...told);
  }
  terminal.status(null);
  const names = Object.keys(samplers);
  const ofHalf = (isJudged: boolean): Result[] => {
    const half = new Set(problems.filter((_, index) => index >= CHOSEN_BY === isJudged).map(({ name }) => name));
    return results.filter(({ outcome }) => half.has(outcome.problem.testProblem.name));
  };
  printShares(`${pipelines} made-up pipelines`, results, names, measurements, terminal);
  printShares('those by which constants were chosen', ofHalf(false), names, measurements, terminal);
  printShares('those by which nothing was chosen', ofHalf(true), names, measurements, terminal);
  terminal.print('');
  tellChances(results, names, terminal);
}
