import { TrituneError } from '../../src/base/errors.ts';
import type { Terminal } from '../../src/cli/terminal.ts';
import { steadySpeeds } from '../../src/study/speed/speeds.ts';
import type { MakeSampler } from '../problems/contest.ts';
import type { TestProblem } from '../problems/problem.ts';
import { playStudies, type StudyResult, summarizeCertificates, summarizeStudies } from '../problems/study-suite.ts';
import type { BenchSearchOptions } from './bench-search-options.ts';
import { tellBands } from './tables.ts';

/** The problems of whole studies: made-up models and recorded ones. */
export interface Contestants {
  readonly samplers: Readonly<Record<string, MakeSampler>>;
  readonly made: readonly TestProblem[];
  readonly recorded: readonly TestProblem[];
}

/** Refuses options that only apply to whole studies. Errors: USAGE if one is given. */
export function refuseStudyOptions({ speed, stalls, seeds, local, correction }: BenchSearchOptions): void {
  const suite = {
    '--speed': speed !== undefined,
    '--stalls': stalls !== undefined,
    '--seeds': seeds !== undefined,
    '--local': local,
    '--no-correction': !correction,
  };
  const [option] = Object.entries(suite).flatMap(([name, isStated]) => (isStated ? [name] : []));
  if (option !== undefined) throw new TrituneError('USAGE', `${option} needs --studies`, 'add --studies');
}

/**
 * Lets the samplers tune everything in whole studies, including the final, and prints the results.
 */
export async function runBenchStudies(
  { samplers, made, recorded }: Contestants,
  options: BenchSearchOptions,
  terminal: Terminal,
): Promise<void> {
  const { seed, seeds = 1, speed: speedKind = 'steady', stalls, statistics, gpuMemory, local: isLocal } = options;
  const results = await playStudies(
    {
      samplers,
      seed,
      seeds,
      speedKind,
      stalls,
      statistics,
      gpuMemory,
      isLocal,
      testProblems: [...made, ...recorded],
      estimateSpeeds: options.correction ? undefined : steadySpeeds,
    },
    ({ sampler, outcome: { problem } }) =>
      terminal.status(`${problem.testProblem.name}, ${problem.tightness} budget: ${sampler}`),
  );
  terminal.status(null);
  const names = new Set(recorded.map(({ name }) => name));
  const isRecorded = ({ outcome }: StudyResult): boolean => names.has(outcome.problem.testProblem.name);
  const machines = speedKind === 'steady' ? 'steady machines' : `machines of the kind ${speedKind}`;
  const unmade = results.filter((result) => !isRecorded(result));
  table(`whole studies of ${made.length} made-up models on ${machines}`, unmade, terminal);
  table(`recorded on real servers, on ${machines}`, results.filter(isRecorded), terminal);
}

const COLUMNS = ['mean', 'median', 'worst tenth', 'worst', 'configs', 'measurements', 'seconds'] as const;
const NAME_WIDTH = 12;

/**
 * Prints shares of the optimum in per cent. For configs, assumes that each is at its best level.
 */
function table(title: string, results: readonly StudyResult[], terminal: Terminal): void {
  if (results.length === 0) return;
  terminal.print('');
  terminal.print(`${title}: % of the optimum`);
  terminal.print(`${' '.repeat(NAME_WIDTH)}${COLUMNS.map((name) => `  ${name}`).join('')}`);
  for (const [name, studyResults] of Map.groupBy(results, ({ sampler }) => sampler)) {
    const { mean, median, worstTenth, worst, configs, measurements, seconds } = summarizeStudies(studyResults);
    const figures = [...[mean, median, worstTenth, worst, configs].map((share) => 100 * share), measurements, seconds];
    const cells = figures.map((figure, index) => figure.toFixed(1).padStart((COLUMNS[index]?.length ?? 0) + 2));
    terminal.print(`${name.padEnd(NAME_WIDTH)}${cells.join('')}`);
    tellStatements(studyResults, terminal);
  }
}

/** Prints how often the statements of studies were true: on the budget, and certificates. */
function tellStatements(results: readonly StudyResult[], terminal: Terminal): void {
  const promises = results.flatMap(({ outcome }) => outcome.promise ?? []);
  tellBands('    the recommended level keeps the budget, by its chance', promises, terminal);
  const certificates = summarizeCertificates(results.map(({ outcome }) => outcome));
  if (!certificates) return;
  const { stated, held, median } = certificates;
  const share = `${((100 * held) / stated).toFixed(1)} %`;
  terminal.print(
    `    certificates: ${stated} of ${results.length} studies, ${share} true, ${(100 * median).toFixed(1)} % in the median`,
  );
}
