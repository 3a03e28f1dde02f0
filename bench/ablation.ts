import { availableParallelism } from 'node:os';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import {
  type AblationRow,
  type AblationSummary,
  ablationSummaries,
  type LeftOut,
  labelOf,
  playAblation,
} from '../src/benchmark/ablation.ts';
import { pipelineProblem } from '../src/benchmark/pipelines/pipeline-problem.ts';
import { pipelineAt } from '../src/benchmark/pipelines/pipelines.ts';
import type { TestProblem } from '../src/benchmark/problem.ts';
import { recordedGrids } from '../src/benchmark/problems.ts';
import { scenario } from '../src/benchmark/scenarios.ts';
import type { Interval } from '../src/stats/interval.ts';
import { type Mechanism, mechanisms } from '../src/study/search/queueing/mechanisms.ts';

/**
 * What each mechanism of the default sampler is worth: `npm run bench:ablation`. Searches of 12
 * measurements, and whole studies on a machine that stalls, with nothing left out and with each
 * mechanism left out alone; problems and noise are the same for all. `TRITUNE_BENCH_MODELS` are the
 * made-up models (200-247), each with a seed of its own out of eight; recorded grids have all
 * eight. `TRITUNE_BENCH_WITHOUT` names the mechanisms (each of them): `initial-design,returning`
 * leaves out one at a time, `initial-design+returning` both at once. Two cores take about five
 * hours for all of it, and about five minutes for each made-up model. `TRITUNE_BENCH_PIPELINES`
 * (`0,4,8`) plays made-up pipelines in place of all that, without whole studies: about a minute for
 * each mechanism and pipeline.
 */
const SEEDS = 8;
const STALLS = 0.2;
const [first = 200, last = 247] = (process.env.TRITUNE_BENCH_MODELS ?? '200-247').split('-').map(Number);
const pipelines = process.env.TRITUNE_BENCH_PIPELINES?.split(',').map(Number);
const leftOut: readonly LeftOut[] =
  process.env.TRITUNE_BENCH_WITHOUT?.split(',').map((names) => names.split('+').map(mechanismOf)) ??
  (Object.keys(mechanisms) as Mechanism[]).map((name) => [name]);

function mechanismOf(name: string): Mechanism {
  if (name in mechanisms) return name as Mechanism;
  throw new Error(`no mechanism ${name}: ${Object.keys(mechanisms).join(', ')}`);
}

interface Task {
  /** A made-up model or pipeline by its number, or a recorded grid by its index. */
  readonly kind: 'made' | 'recorded' | 'pipeline';
  readonly index: number;
  readonly seeds: readonly number[];
}

type Found = AblationRow & Pick<Task, 'kind'>;

function tasks(): Task[] {
  if (pipelines) return pipelines.map((index) => ({ kind: 'pipeline', index, seeds: [1] }));
  const seeds = Array.from({ length: SEEDS }, (_, index) => index + 1);
  const made = Array.from({ length: Math.max(0, last - first + 1) }, (_, index): Task => {
    return { kind: 'made', index: first + index, seeds: [1 + (index % SEEDS)] };
  });
  const recorded = recordedGrids().map((_, index): Task => ({ kind: 'recorded', index, seeds }));
  return [...recorded, ...made];
}

async function work(own: readonly Task[]): Promise<void> {
  for (const { kind, index, seeds } of own) {
    const testProblem = problemOf(kind, index);
    if (!testProblem) continue;
    for (const seed of seeds) {
      const rows = await playAblation(testProblem, leftOut, { seed, stalls: kind === 'pipeline' ? null : STALLS });
      parentPort?.postMessage(rows.map((row): Found => ({ ...row, kind })));
    }
  }
}

function problemOf(kind: Task['kind'], index: number): TestProblem | undefined {
  if (kind === 'pipeline') return pipelineProblem(pipelineAt(index));
  return kind === 'made' ? scenario(index) : recordedGrids()[index];
}

function play(): Promise<Found[]> {
  const all = tasks();
  const found: Found[] = [];
  const threads = Math.max(1, availableParallelism());
  const played = Array.from({ length: threads }, (_, thread) => {
    const own = all.filter((_, index) => index % threads === thread);
    const worker = new Worker(new URL(import.meta.url), { workerData: own });
    worker.on('message', (rows: Found[]) => {
      found.push(...rows);
      console.error(`${rows[0]?.testProblem}, seed ${rows[0]?.seed}`);
    });
    return new Promise<void>((done, fail) => {
      worker.on('error', fail);
      worker.on('exit', (code) => (code === 0 ? done() : fail(new Error(`a thread ended with ${code}`))));
    });
  });
  return Promise.all(played).then(() => found);
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

function print(title: string, rows: readonly Found[]): void {
  const order = [null, ...leftOut.map(labelOf)];
  const summaries = [...ablationSummaries(rows)].sort((a, b) => order.indexOf(a.without) - order.indexOf(b.without));
  console.log(`\n${title}: ${summaries[0]?.problems ?? 0} problems; shares of the optimum in per cent`);
  console.log(
    '| left out | after 6: median / worst tenth / mean | after 9 | after 12 | until 97 % | reloads | ask, ms | studies: mean / worst tenth | worth after 9 | worth after 12 | worth in studies |',
  );
  console.log('|---|---|---|---|---|---|---|---|---|---|---|');
  for (const summary of summaries) console.log(row(summary));
}

if (isMainThread) {
  const found = await play();
  const titles = { made: 'made-up models', recorded: 'recorded grids', pipeline: 'made-up pipelines' } as const;
  for (const kind of ['made', 'recorded', 'pipeline'] as const) {
    const own = found.filter((each) => each.kind === kind);
    if (own.length > 0) print(titles[kind], own);
  }
} else {
  await work(workerData as Task[]);
}
