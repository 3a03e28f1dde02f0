import { TrituneError } from '../../../base/errors.ts';
import type { MakeSampler } from '../../../benchmark/contest.ts';
import type { TestProblem } from '../../../benchmark/problem.ts';
import { gridOf, otherServers, recordedGrids, scenarios } from '../../../benchmark/problems.ts';
import { chancesOf, type Result, runSuite, stopsOf, summaryOf } from '../../../benchmark/suite.ts';
import { type Mechanism, mechanisms, type Without } from '../../../study/search/queueing/mechanisms.ts';
import type { SamplerName } from '../../../study/search/samplers/registry.ts';
import { makeSampler } from '../../../study/search/samplers/registry.ts';
import type { Terminal } from '../../terminal.ts';
import {
  ALL_OTHER_SERVERS,
  ALL_SCENARIOS,
  type BenchSearchOptions,
  contestants,
  QUICK_OTHER_SERVERS,
  QUICK_SCENARIOS,
} from './options.ts';
import { refuseStudyOptions, runBenchStudies } from './run-studies.ts';

/** Lets the samplers meet on all problems, and prints how they did. Errors: USAGE, INPUT_INVALID for a file that is no recorded grid. */
export async function runBenchSearch(options: BenchSearchOptions, terminal: Terminal): Promise<void> {
  const names = options.samplers.split(',') as SamplerName[];
  const unknown = names.find((name) => !contestants.includes(name));
  if (unknown !== undefined) {
    throw new TrituneError(
      'USAGE',
      `there is no sampler '${unknown}' to compare`,
      `give some of ${contestants.join(',')}`,
    );
  }
  const without = leftOut(options);
  const count = options.scenarios ?? (options.quick ? QUICK_SCENARIOS : ALL_SCENARIOS);
  const grids = options.grid?.map(gridOf) ?? recordedGrids();
  const made = scenarios(count);
  const usualOthers = options.quick ? QUICK_OTHER_SERVERS : ALL_OTHER_SERVERS;
  const others = otherServers(options.otherServers ?? (count === 0 ? 0 : usualOthers));
  const samplers = Object.fromEntries(
    names.map(
      (name) => [name, (space, of) => makeSampler(name, space, { ...of, without })] satisfies [string, MakeSampler],
    ),
  );
  if (options.studies) return runBenchStudies({ samplers, made, recorded: grids }, options, terminal);
  refuseStudyOptions(options);
  const plan = {
    samplers,
    testProblems: [...made, ...others, ...grids],
    measurements: options.measurements,
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
    table(title, some, names, options.measurements, terminal);
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

/** Errors: USAGE for a name that no mechanism has. */
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

const WIDEST_CELL = '  100 / 100 / 100'.length;

/** Shares of the optimum after some measurements, in per cent: median, worst tenth and worst. */
function table(
  title: string,
  results: readonly Result[],
  names: readonly string[],
  most: number,
  terminal: Terminal,
): void {
  if (results.length === 0) return;
  const after = [6, 9, 12, 16, 24].filter((count) => count <= most);
  const counts = after.length > 0 ? after : [most];
  terminal.print('');
  terminal.print(`${title}: % of the optimum, median / worst tenth / worst, after so many measurements`);
  const head = counts.map((count) => `${count}`.padStart(WIDEST_CELL)).join('');
  terminal.print(`${''.padEnd(12)}${head}   reloads  seconds  levels  stops`);
  for (const name of names) {
    const own = results.filter(({ sampler }) => sampler === name);
    if (own.length === 0) continue;
    const summaries = counts.map((count) => summaryOf(own, count));
    const cells = summaries.map(({ median, worstTenth, worst }) =>
      [median, worstTenth, worst].map(percent).join(' / '),
    );
    const at = summaryOf(own, Math.min(12, most));
    const stops = stopsOf(own);
    const stopped = stops
      ? `${stops.stopped} of ${own.length}, after ${stops.measurements} at ${percent(stops.share)}`
      : 'none';
    terminal.print(
      `${name.padEnd(12)}${cells.map((cell) => cell.padStart(WIDEST_CELL)).join('')}   ${at.reloads.toFixed(1).padStart(7)}  ${at.seconds.toFixed(0).padStart(7)}  ${at.levels.toFixed(1).padStart(6)}  ${stopped}`,
    );
  }
}

/** What became of proposals, by the chance that the sampler gave them to meet the goal. */
function tellChances(results: readonly Result[], names: readonly string[], terminal: Terminal): void {
  for (const name of names) {
    const bands = chancesOf(results.filter(({ sampler }) => sampler === name));
    const texts = bands.map(
      ({ low, high, proposals, met }) => `${percent(low)} to ${percent(high)} %: ${percent(met)} % of ${proposals}`,
    );
    if (texts.length > 0)
      terminal.print(`${name.padEnd(12)}met the goal, by the chance they were given: ${texts.join('; ')}`);
  }
}

const percent = (share: number): string => (100 * share).toFixed(0);
