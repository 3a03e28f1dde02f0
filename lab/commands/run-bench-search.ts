import { TrituneError } from '../../src/base/errors.ts';
import type { Terminal } from '../../src/cli/terminal.ts';
import { type Mechanism, mechanisms, type Without } from '../../src/study/search/queueing/mechanisms.ts';
import type { SamplerName } from '../../src/study/search/samplers/registry.ts';
import { makeSampler } from '../../src/study/search/samplers/registry.ts';
import { oneByOneSampler } from '../pipelines/one-by-one.ts';
import type { MakeSampler } from '../problems/contest.ts';
import type { TestProblem } from '../problems/problem.ts';
import { otherServers, recordedGrids, scenarios, toGrid } from '../problems/problems.ts';
import { type Result, runSuite } from '../problems/suite.ts';
import {
  ALL_OTHER_SERVERS,
  ALL_SCENARIOS,
  type BenchSearchOptions,
  contestants,
  ONE_BY_ONE,
  QUICK_OTHER_SERVERS,
  QUICK_SCENARIOS,
  USUAL_MEASUREMENTS,
} from './bench-search-options.ts';
import { runBenchEngines } from './run-engines.ts';
import { runBenchPipelines } from './run-pipelines.ts';
import { refuseStudyOptions, runBenchStudies } from './run-studies.ts';
import { printShares, tellChances } from './tables.ts';

/**
 * Runs the samplers on all problems, and prints the results. Errors: USAGE, INPUT_INVALID for a
 * file that is no recorded grid.
 */
export async function runBenchSearch(options: BenchSearchOptions, terminal: Terminal): Promise<void> {
  const isOfPipelines = options.pipelines !== undefined;
  const known: readonly string[] = isOfPipelines ? [...contestants, ONE_BY_ONE] : contestants;
  const names = options.samplers.split(',');
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new TrituneError('USAGE', `there is no sampler '${unknown}' to compare`, `give some of ${known.join(',')}`);
  }
  const without = leftOut(options);
  const kind = isOfPipelines ? 'pipeline' : options.engines === undefined ? 'one' : 'engine';
  const measurements = options.measurements ?? USUAL_MEASUREMENTS[kind];
  const samplers = Object.fromEntries(names.map((name) => [name, chooseMake(name, measurements, without)]));
  if (isOfPipelines) return runBenchPipelines({ samplers, measurements }, options, terminal);
  if (kind === 'engine') return runBenchEngines({ samplers, measurements }, options, terminal);
  const count = options.scenarios ?? (options.quick ? QUICK_SCENARIOS : ALL_SCENARIOS);
  const grids = options.grid?.map(toGrid) ?? recordedGrids();
  const made = scenarios(count);
  const usualOthers = options.quick ? QUICK_OTHER_SERVERS : ALL_OTHER_SERVERS;
  const others = otherServers(options.otherServers ?? (count === 0 ? 0 : usualOthers));
  if (options.studies) return runBenchStudies({ samplers, made, recorded: grids }, options, terminal);
  refuseStudyOptions(options);
  const plan = {
    samplers,
    testProblems: [...made, ...others, ...grids],
    measurements,
    seed: options.seed,
    statistics: options.statistics,
    gpuMemory: options.gpuMemory,
  };
  const results = await runSuite(plan, ({ sampler, outcome: { problem } }) =>
    terminal.status(`${problem.testProblem.name}, ${problem.tightness} budget: ${sampler}`),
  );
  terminal.status(null);
  const among = (testProblems: readonly TestProblem[]) => {
    const problemNames = new Set(testProblems.map(({ name }) => name));
    return results.filter(({ outcome }) => problemNames.has(outcome.problem.testProblem.name));
  };
  const show = (title: string, some: readonly Result[]): void =>
    printShares(title, some, names, measurements, terminal);
  show(`${count} made-up models`, among(made));
  for (const tightness of ['tight', 'middle', 'loose']) {
    show(
      `of these with a ${tightness} budget`,
      among(made).filter(({ outcome }) => outcome.problem.tightness === tightness),
    );
  }
  show(`${others.length} made-up servers that queue otherwise`, among(others));
  show('recorded on real servers', among(grids));
  terminal.print('');
  tellChances(results, names, terminal);
}

/** Errors: USAGE for an unknown mechanism. */
function leftOut({ without = [] }: BenchSearchOptions): Without {
  const isKnown = (name: string): name is Mechanism => Object.hasOwn(mechanisms, name);
  const unknown = without.find((name) => !isKnown(name));
  if (unknown === undefined) return new Set(without.filter(isKnown));
  throw new TrituneError(
    'USAGE',
    `the default sampler has no mechanism '${unknown}'`,
    `give some of ${Object.keys(mechanisms).join(', ')}`,
  );
}

/** Returns the factory of the sampler with that name. */
const chooseMake =
  (name: string, measurements: number, without: Without): MakeSampler =>
  (space, { testProblem, ...of }) => {
    if (name !== ONE_BY_ONE || !of.topology || !testProblem?.narrowed)
      return makeSampler(name as SamplerName, space, { ...of, without });
    const { narrowed, baseline } = testProblem;
    return oneByOneSampler({ ...of, topology: of.topology, narrowed, baseline, measurements, without });
  };
