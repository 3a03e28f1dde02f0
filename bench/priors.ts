import { appendFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { mean, median } from 'simple-statistics';
import type { PriorStudy } from '#study/search/samplers/prior-studies.ts';
import { makeSampler } from '#study/search/samplers/registry.ts';
import type { Sampler, Trial } from '#study/types.ts';
import { countUntilNear, summarizeShares } from '../lab/problems/ablation.ts';
import { contest } from '../lab/problems/contest.ts';
import { listBudgetedProblems } from '../lab/problems/problem.ts';
import { KINDS, type Kind, listTasks, openProblem, playOnThreads, problemOptions, type Task } from './test-problems.ts';

/**
 * What earlier studies are worth to a search: `npm run bench:priors -- --models 620-643`. Each
 * problem (test-problems.ts) is searched without one, with one of the same server (`alike`), and
 * with one of the problem before (`other`). Grids of `--prior-grids DIR` take the place of the same
 * server, where they have the same file name. `--log FILE` gets a line for each search.
 */
const { values: options } = parseArgs({
  options: { ...problemOptions, 'prior-grids': { type: 'string' }, log: { type: 'string' } },
});
const MEASUREMENTS = 12;
const AFTER = [3, 5, 6, 9, 12];
/** The seed of earlier studies, so that their noise is another. */
const EARLIER_SEED = 1000;

const PRIORS = ['none', 'alike', 'other'] as const;

interface Row {
  readonly kind: Kind;
  readonly problem: string;
  readonly tightness: string;
  readonly seed: number;
  readonly prior: (typeof PRIORS)[number];
  /** Shares of the optimum after each measurement. */
  readonly shares: readonly number[];
}

interface Part {
  readonly task: Task;
  readonly before: Task;
}

/** Returns the search of a problem within its middle budget, as an earlier study. */
async function searchEarlier(task: Task): Promise<PriorStudy> {
  const problems = listBudgetedProblems(openProblem(task));
  const problem = problems.find(({ tightness }) => tightness === 'middle');
  if (!problem) throw new Error(`${task.name} has no middle budget`);
  let trials: readonly Trial[] = [];
  const noting = (sampler: Sampler): Sampler => ({
    ...sampler,
    ask(history, remaining) {
      trials = history.trials;
      return sampler.ask(history, remaining);
    },
  });
  const world = { seed: EARLIER_SEED, statistics: true };
  await contest(problem, (space, setup) => noting(makeSampler('queueing', space, setup)), MEASUREMENTS, world);
  return { name: task.name, trials };
}

const samePlace = (task: Task): Task =>
  options['prior-grids'] === undefined || task.kind !== 'grid'
    ? task
    : { ...task, name: `${options['prior-grids']}/${task.name.split('/').at(-1)}` };

async function work(parts: readonly Part[]): Promise<void> {
  for (const { task, before } of parts) {
    const studies = {
      none: [],
      alike: [await searchEarlier(samePlace(task))],
      other: [await searchEarlier(samePlace(before))],
    };
    const testProblem = openProblem(task);
    for (const problem of listBudgetedProblems(testProblem)) {
      for (const prior of PRIORS) {
        const { kind, seed } = task;
        const { standings } = await contest(
          problem,
          (space, setup) => makeSampler('queueing', space, { ...setup, priors: studies[prior] }),
          MEASUREMENTS,
          { seed, statistics: true },
        );
        const shares = standings.map(({ share }) => share);
        const { tightness } = problem;
        parentPort?.postMessage({ kind, problem: testProblem.name, tightness, seed, prior, shares } satisfies Row);
      }
    }
  }
}

const percent = (share: number): string => (100 * share).toFixed(0);

function print(title: string, rows: readonly Row[]): void {
  console.log(`\n${title}: shares of the optimum, median / worst tenth / mean, in per cent`);
  console.log(`| earlier study | searches | ${AFTER.map((count) => `after ${count}`).join(' | ')} | until 97 % |`);
  console.log(`|---|---|${AFTER.map(() => '---|').join('')}---|`);
  for (const prior of PRIORS) {
    const ofPrior = rows.filter((row) => row.prior === prior);
    const cells = AFTER.map((count) => {
      const share = summarizeShares(ofPrior.map(({ shares }) => shares[count - 1] ?? 0));
      return [share.median, share.worstTenth, share.mean].map(percent).join(' / ');
    });
    const near = ofPrior.map(({ shares }) => countUntilNear(shares));
    const until = `${median(near)} (mean ${mean(near).toFixed(1)})`;
    console.log(`| ${[prior, ofPrior.length, ...cells, until].join(' | ')} |`);
  }
}

if (isMainThread) {
  const rows: Row[] = [];
  const tasks = listTasks(options);
  const parts = tasks.map((task, index): Part => ({ task, before: tasks.at(index - 1) as Task }));
  await playOnThreads<Part, Row>(import.meta.url, parts, Number(options.threads), (row) => {
    rows.push(row);
    if (options.log) appendFileSync(options.log, `${JSON.stringify(row)}\n`);
  });
  for (const [kind, title] of Object.entries(KINDS)) {
    const ofKind = rows.filter((row) => row.kind === kind);
    if (ofKind.length > 0) print(title, ofKind);
  }
} else {
  await work(workerData as Part[]);
}
