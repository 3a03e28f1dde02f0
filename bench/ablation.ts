import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import type { Interval } from '#stats/interval.ts';
import { type Mechanism, mechanisms } from '#study/search/queueing/mechanisms.ts';
import {
  type AblationRow,
  type AblationSummary,
  ablationSummaries,
  formatLabel,
  type LeftOut,
  playAblation,
} from '../lab/problems/ablation.ts';
import { listBudgetedProblems } from '../lab/problems/problem.ts';
import { KINDS, listTasks, openProblem, playOnThreads, problemOptions, type Task } from './test-problems.ts';

/**
 * What each mechanism of the default sampler is worth: `npm run bench:ablation -- --log FILE`.
 * Searches of 12 measurements with nothing left out and with each mechanism left out alone;
 * problems (test-problems.ts) and noise are the same for all. `--studies` plays a whole study after
 * each search, on a machine that stalls. `--without a,b+c` leaves out `a`, and `b` and `c`
 * together, in place of each mechanism. The log gets a line for each search; those that it has are
 * not played again, so that pieces add up. Without problems it prints the log.
 */
const { values: options } = parseArgs({
  options: {
    ...problemOptions,
    studies: { type: 'boolean', default: false },
    without: { type: 'string' },
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

type Row = AblationRow & Pick<Task, 'kind'>;

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
    const testProblem = openProblem(task);
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
  const rows = readLog();
  await playOnThreads<Task, Row>(import.meta.url, listTasks(options), Number(options.threads), (row) => {
    rows.push(row);
    if (options.log) appendFileSync(options.log, `${JSON.stringify(row)}\n`);
    if (row.without === null) console.error(`${row.testProblem}, ${row.tightness}, seed ${row.seed}`);
  });
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
