import { appendFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { mean } from 'simple-statistics';
import { queueingSampler } from '#study/search/queueing/queueing.ts';
import { listBudgetedProblems } from '../lab/problems/problem.ts';
import { summarizeCertificates } from '../lab/problems/study-suite.ts';
import { summarizeChances } from '../lab/problems/suite.ts';
import { playStudy, type WholeStudyOutcome } from '../lab/problems/whole-study.ts';
import { KINDS, type Kind, listTasks, openProblem, playOnThreads, problemOptions, type Task } from './test-problems.ts';

/**
 * How often what a study states is true: `npm run bench:statements -- --models 500-599`. Plays
 * whole studies on problems (test-problems.ts) whose optimum is known, and prints how often
 * certificates hold, and how often recommended levels keep the budget, by their stated chance.
 * `--certify 5` continues searches until their certificate is 5 %, `--stalls 0.2` stalls the
 * machine, `--log FILE` gets a line for each study.
 */
const { values: options } = parseArgs({
  options: {
    ...problemOptions,
    certify: { type: 'string' },
    stalls: { type: 'string', default: '0' },
    log: { type: 'string' },
  },
});

interface Row extends Omit<WholeStudyOutcome, 'problem'> {
  readonly kind: Kind;
  readonly testProblem: string;
  readonly tightness: string;
  readonly seed: number;
}

async function work(tasks: readonly Task[]): Promise<void> {
  const certify = options.certify === undefined ? undefined : Number(options.certify) / 100;
  for (const { kind, name, seed } of tasks) {
    for (const problem of listBudgetedProblems(openProblem({ kind, name, seed }))) {
      const { problem: played, ...outcome } = await playStudy(
        problem,
        (space, setup) => queueingSampler(space, { ...setup, certify }),
        { seed, statistics: true, stalls: Number(options.stalls) },
      );
      const { testProblem, tightness } = played;
      parentPort?.postMessage({ kind, testProblem: testProblem.name, tightness, seed, ...outcome } satisfies Row);
    }
  }
}

const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;

function print(title: string, rows: readonly Row[]): void {
  if (rows.length === 0) return;
  console.log(
    `\n${title}: ${rows.length} studies, ${mean(rows.map(({ measurements }) => measurements)).toFixed(1)} measurements`,
  );
  const certificates = summarizeCertificates(rows);
  if (certificates) {
    const { stated, held, median } = certificates;
    console.log(
      `certificates: ${stated}, true: ${held} (${percent(held / stated)}), gain in the median: ${percent(median)}`,
    );
  }
  const reasons = Map.groupBy(rows, ({ certificate }) => certificate?.reason ?? '');
  for (const [reason, refused] of reasons)
    if (reason !== '') console.log(`no certificate: ${refused.length}, ${reason}`);
  for (const { low, high, count, met } of summarizeChances(rows.flatMap(({ promise }) => promise ?? [])))
    console.log(`keeps the budget, ${percent(low)} to ${percent(high)}: ${percent(met)} of ${count}`);
}

if (isMainThread) {
  const rows: Row[] = [];
  await playOnThreads<Task, Row>(import.meta.url, listTasks(options), Number(options.threads), (row) => {
    rows.push(row);
    if (options.log) appendFileSync(options.log, `${JSON.stringify(row)}\n`);
  });
  for (const [kind, title] of Object.entries(KINDS))
    print(
      title,
      rows.filter((row) => row.kind === kind),
    );
  print('all', rows);
} else {
  await work(workerData as Task[]);
}
