import { appendFileSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import {
  type AblationRow,
  type AblationSummary,
  ablationSummaries,
  formatLabel,
  type LeftOut,
  playAblation,
} from '../src/benchmark/ablation.ts';
import { pipelineProblem } from '../src/benchmark/pipelines/pipeline-problem.ts';
import { pipelineAt } from '../src/benchmark/pipelines/pipelines.ts';
import { listBudgetedProblems, type TestProblem } from '../src/benchmark/problem.ts';
import { recordedGrids, toGrid } from '../src/benchmark/problems.ts';
import { scenario } from '../src/benchmark/scenarios.ts';
import type { Interval } from '../src/stats/interval.ts';
import { type Mechanism, mechanisms } from '../src/study/search/queueing/mechanisms.ts';

/**
 * What each mechanism of the default sampler is worth: `npm run bench:ablation -- --log FILE`.
 * Searches of 12 measurements with nothing left out and with each mechanism left out alone;
 * problems and noise are the same for all. `--models 200-247` are made-up models, `--recorded` the
 * built-in grids, `--grids DIR` grid files, `--pipelines 0,4,8` made-up pipelines. `--seeds 1-4`
 * plays each with these seeds; a made-up model is played with one of them. `--studies` plays a
 * whole study after each search, on a machine that stalls. `--without a,b+c` leaves out `a`, and
 * `b` and `c` together, in place of each mechanism. The log gets a line for each search; those
 * that it has are not played again, so that pieces add up. Without problems it prints the log.
 */
const { values: options } = parseArgs({
  options: {
    models: { type: 'string' },
    recorded: { type: 'boolean', default: false },
    grids: { type: 'string', multiple: true, default: [] },
    pipelines: { type: 'string' },
    seeds: { type: 'string', default: '1' },
    studies: { type: 'boolean', default: false },
    without: { type: 'string' },
    threads: { type: 'string', default: String(availableParallelism()) },
    log: { type: 'string' },
  },
});
const STALLS = 0.2;
const leftOut: readonly LeftOut[] =
  options.without?.split(',').map((names) => names.split('+').map(mechanismOf)) ??
  (Object.keys(mechanisms) as Mechanism[]).map((name) => [name]);

function mechanismOf(name: string): Mechanism {
  if (name in mechanisms) return name as Mechanism;
  throw new Error(`no mechanism ${name}: ${Object.keys(mechanisms).join(', ')}`);
}

const KINDS = { model: 'made-up models', recorded: 'recorded grids', grid: 'grids', pipeline: 'made-up pipelines' };
type Kind = keyof typeof KINDS;

interface Task {
  readonly kind: Kind;
  /** The number of a made-up model or pipeline, the index of a recorded grid, or a grid's file. */
  readonly name: string;
  readonly seed: number;
}

type Row = AblationRow & Pick<Task, 'kind'>;

/** Returns `3-5` as 3, 4, 5, and `0,4` as 0, 4. */
function numbersIn(list: string): number[] {
  return list.split(',').flatMap((part) => {
    const [first = 0, last = first] = part.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}

function tasksOf(): Task[] {
  const seeds = numbersIn(options.seeds);
  const models = options.models ? numbersIn(options.models) : [];
  const pipelines = options.pipelines ? numbersIn(options.pipelines) : [];
  const files = options.grids.flatMap((folder) =>
    readdirSync(folder)
      .filter((file) => file.endsWith('.json'))
      .sort()
      .map((file) => join(folder, file)),
  );
  const recorded = options.recorded ? recordedGrids().map((_, index) => String(index)) : [];
  return [
    ...models.map((number, index): Task => {
      return { kind: 'model', name: String(number), seed: seeds[index % seeds.length] ?? 1 };
    }),
    ...seeds.flatMap((seed): Task[] => [
      ...recorded.map((name): Task => ({ kind: 'recorded', name, seed })),
      ...files.map((name): Task => ({ kind: 'grid', name, seed })),
      ...pipelines.map((number): Task => ({ kind: 'pipeline', name: String(number), seed })),
    ]),
  ];
}

function problemOf({ kind, name }: Task): TestProblem {
  if (kind === 'pipeline') return pipelineProblem(pipelineAt(Number(name)));
  if (kind === 'model') return scenario(Number(name));
  if (kind === 'recorded') return recordedGrids()[Number(name)] as TestProblem;
  // The same name is that of another grid in another folder.
  return { ...toGrid(name), name: `${basename(join(name, '..'))}/${basename(name, '.json')}` };
}

function readLog(): Row[] {
  if (!options.log || !existsSync(options.log)) return [];
  const lines = readFileSync(options.log, 'utf8').trim().split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Row);
}

type Search = Pick<Row, 'testProblem' | 'tightness' | 'seed' | 'without'>;
const keyOf = ({ testProblem, tightness, seed, without }: Search): string =>
  JSON.stringify([testProblem, tightness, seed, without]);

async function work(tasks: readonly Task[]): Promise<void> {
  const played = new Set(readLog().map(keyOf));
  for (const task of tasks) {
    const { kind, seed } = task;
    const testProblem = problemOf(task);
    for (const problem of listBudgetedProblems(testProblem)) {
      for (const without of [[], ...leftOut]) {
        const { tightness } = problem;
        const key = keyOf({ testProblem: testProblem.name, tightness, seed, without: formatLabel(without) });
        if (played.has(key)) continue;
        const row = await playAblation(problem, without, { seed, stalls: options.studies ? STALLS : null });
        parentPort?.postMessage({ ...row, kind } satisfies Row);
      }
    }
  }
}

async function play(): Promise<Row[]> {
  const all = tasksOf();
  const rows = readLog();
  const threads = Math.min(all.length, Number(options.threads));
  await Promise.all(
    Array.from({ length: threads }, (_, thread) => {
      const tasks = all.filter((_, index) => index % threads === thread);
      const worker = new Worker(new URL(import.meta.url), { workerData: tasks, argv: process.argv.slice(2) });
      worker.on('message', (row: Row) => {
        rows.push(row);
        if (options.log) appendFileSync(options.log, `${JSON.stringify(row)}\n`);
        if (row.without === null) console.error(`${row.testProblem}, ${row.tightness}, seed ${row.seed}`);
      });
      return new Promise<void>((done, fail) => {
        worker.on('error', fail);
        worker.on('exit', (code) => (code === 0 ? done() : fail(new Error(`a thread ended with ${code}`))));
      });
    }),
  );
  return rows;
}

const percent = (share: number): string => (100 * share).toFixed(1);
const signed = ({ value, low, high }: Interval): string =>
  `${value >= 0 ? '+' : ''}${percent(value)} (${percent(low)} to ${percent(high)})`;

function row({ without, after, untilNear, reloads, askMs, study, worth }: AblationSummary): string {
  const shares = after.map(
    ({ median, worstTenth, mean }) => `${percent(median)} / ${percent(worstTenth)} / ${percent(mean)}`,
  );
  const studies = study ? `${percent(study.mean)} / ${percent(study.worstTenth)}` : '';
  const gains = worth ? [worth.after[1], worth.after[2], worth.study ?? undefined] : [];
  const cells = [
    without ?? '(nothing)',
    ...shares,
    untilNear.toFixed(1),
    reloads.toFixed(1),
    askMs.toFixed(0),
    studies,
    ...[0, 1, 2].map((index) => (gains[index] ? signed(gains[index]) : '')),
  ];
  return `| ${cells.join(' | ')} |`;
}

const ORDER: readonly string[] = Object.keys(mechanisms);
/** Nothing first, then the mechanisms, then groups of them. */
const orderOf = ({ without }: AblationSummary): number =>
  without === null ? -1 : ORDER.includes(without) ? ORDER.indexOf(without) : ORDER.length;

function print(title: string, rows: readonly Row[]): void {
  const summaries = ablationSummaries(rows).toSorted((a, b) => orderOf(a) - orderOf(b));
  console.log(`\n${title}: ${summaries[0]?.problems ?? 0} problems; shares of the optimum in per cent`);
  console.log(
    '| left out | after 6: median / worst tenth / mean | after 9 | after 12 | until 97 % | reloads | ask, ms | studies: mean / worst tenth | worth after 9 | worth after 12 | worth in studies |',
  );
  console.log('|---|---|---|---|---|---|---|---|---|---|---|');
  for (const summary of summaries) console.log(row(summary));
}

if (isMainThread) {
  const rows = await play();
  for (const [kind, title] of Object.entries(KINDS)) {
    const rowsOfKind = rows.filter((row) => row.kind === kind);
    if (rowsOfKind.length > 0) print(title, rowsOfKind);
  }
} else {
  await work(workerData as Task[]);
}
