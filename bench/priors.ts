import { appendFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { mean, median } from 'simple-statistics';
import { findLaw } from '#perfmodel/laws.ts';
import { measuredChoices } from '#perfmodel/service-model.ts';
import { listChoices } from '#study/search/queueing/choices.ts';
import type { Prior, PriorProposal, PriorStudy } from '#study/search/samplers/prior-studies.ts';
import { makeSampler } from '#study/search/samplers/registry.ts';
import type { Sampler, Trial } from '#study/types.ts';
import { countUntilNear, summarizeShares } from '../lab/problems/ablation.ts';
import { contest } from '../lab/problems/contest.ts';
import { toMeasurement } from '../lab/problems/measurement-of.ts';
import { type BudgetedProblem, listBudgetedProblems, type TestProblem } from '../lab/problems/problem.ts';
import { KINDS, type Kind, listTasks, openProblem, playOnThreads, problemOptions, type Task } from './test-problems.ts';

/**
 * What a search gains by what was known before: `npm run bench:priors -- --models 620-643`. Each
 * problem (test-problems.ts) is searched with nothing known, with an earlier study of the same
 * server (`alike`), with one of the problem before (`other`), and with a config that is proposed by
 * a law of the original config at 20 to 60 % of its ceiling (`explained`). Grids of `--prior-grids
 * DIR` take the place of the same server, where they have the same file name. `--log FILE` gets a
 * line for each search.
 */
const { values: options } = parseArgs({
  options: { ...problemOptions, 'prior-grids': { type: 'string' }, log: { type: 'string' } },
});
const MEASUREMENTS = 12;
const AFTER = [3, 5, 6, 9, 12];
/** The seed of earlier studies, so that their noise is another. */
const EARLIER_SEED = 1000;

const PRIORS = ['none', 'alike', 'other', 'explained'] as const;

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

/** Shares of the original config's highest throughput at which it was seen. */
const SEEN = { low: 0.2, high: 0.6 };
const QUIET = { rate: 1, latency: 1, rateWidth: 0.01, latencyWidth: 0.02 };

/** Returns the config of the highest throughput within the budget, by the law of what was seen. */
function proposeUnseen({ testProblem, budgetMs }: BudgetedProblem): readonly PriorProposal[] {
  const { space, gridLevels, levels } = testProblem;
  const all = listChoices(space, EARLIER_SEED);
  const options = { mode: levels.mode, percentile: 99, seed: EARLIER_SEED, all, expectedTime: space.expectedTime };
  const law = findLaw(undefined, all[0]?.candidate.shape).fit(seeOriginal(testProblem), options);
  const points = all.flatMap((choice) =>
    gridLevels.flatMap((level) => {
      const predicted = law.predict(choice, level);
      const slower = Math.exp(law.uncertainty(choice, level));
      if (!predicted || predicted.latency * slower > budgetMs) return [];
      return [{ assignment: choice.candidate.assignment, level, perSecond: predicted.throughput / slower }];
    }),
  );
  const [first] = points.toSorted((a, b) => b.perSecond - a.perSecond);
  if (!first) return [];
  const { assignment, level, perSecond } = first;
  return [{ name: 'explained', proposal: { assignment, requestsPerSecond: perSecond, inFlight: level } }];
}

function seeOriginal({ baseline, gridLevels, levels, truth }: TestProblem): ReturnType<typeof measuredChoices> {
  const seen = gridLevels.map((level) => ({ level, truth: truth(baseline, level) }));
  const highest = Math.max(...seen.map((each) => each.truth.throughput));
  const isInside = (throughput: number): boolean =>
    throughput >= SEEN.low * highest && throughput <= SEEN.high * highest;
  const inside = seen.filter((each) => isInside(each.truth.throughput));
  const known = inside.length > 0 ? inside : seen.slice(0, 1);
  const { mode } = levels;
  return measuredChoices(
    baseline,
    known.map(({ level, truth }) => toMeasurement(truth, { mode, value: level }, QUIET)),
  );
}

const samePlace = (task: Task): Task =>
  options['prior-grids'] === undefined || task.kind !== 'grid'
    ? task
    : { ...task, name: `${options['prior-grids']}/${task.name.split('/').at(-1)}` };

async function work(parts: readonly Part[]): Promise<void> {
  for (const { task, before } of parts) {
    const alike = [await searchEarlier(samePlace(task))];
    const other = [await searchEarlier(samePlace(before))];
    const testProblem = openProblem(task);
    for (const problem of listBudgetedProblems(testProblem)) {
      const explained = testProblem.topology ? null : proposeUnseen(problem);
      const priors: Readonly<Record<(typeof PRIORS)[number], readonly Prior[] | null>> = {
        none: [],
        alike,
        other,
        explained,
      };
      for (const prior of PRIORS) {
        const known = priors[prior];
        if (!known) continue;
        const { kind, seed } = task;
        const { standings } = await contest(
          problem,
          (space, setup) => makeSampler('queueing', space, { ...setup, priors: known }),
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
  console.log(`| known before | searches | ${AFTER.map((count) => `after ${count}`).join(' | ')} | until 97 % |`);
  console.log(`|---|---|${AFTER.map(() => '---|').join('')}---|`);
  for (const prior of PRIORS) {
    const ofPrior = rows.filter((row) => row.prior === prior);
    if (ofPrior.length === 0) continue;
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
