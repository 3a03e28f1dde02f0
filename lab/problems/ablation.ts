import { mean, quantileSorted, sampleStandardDeviation } from 'simple-statistics';
import { confidenceFactor } from '../../src/stats/batch-means.ts';
import type { Interval } from '../../src/stats/interval.ts';
import type { Mechanism, Without } from '../../src/study/search/queueing/mechanisms.ts';
import { queueingSampler } from '../../src/study/search/queueing/queueing.ts';
import type { Sampler } from '../../src/study/types.ts';
import { contest, type MakeSampler, type Promised } from './contest.ts';
import type { BudgetedProblem } from './problem.ts';
import { playStudy } from './whole-study.ts';

/**
 * The result of the default sampler on one problem with one seed, with or without some of its
 * mechanisms.
 */
export interface AblationRow {
  /** The mechanisms left out, as named by `formatLabel`; null for none. */
  readonly without: string | null;
  readonly testProblem: string;
  readonly tightness: BudgetedProblem['tightness'];
  readonly seed: number;
  /** Shares of the optimum after 6, 9 and 12 measurements, 0 to 1. */
  readonly after: readonly [number, number, number];
  /** Measurements until 97 % of the optimum; one more than the total if it was not reached. */
  readonly untilNear: number;
  readonly reloads: number;
  readonly promises: readonly Promised[];
  /** The mean time of an `ask`, in milliseconds. */
  readonly askMs: number;
  /**
   * The share of the optimum, 0 to 1, that a whole study recommends on a machine that stalls; null
   * if none was played.
   */
  readonly study: number | null;
}

/** Options of an ablation. */
export interface AblationOptions {
  readonly seed: number;
  /** The share of measurements that a stall delays in whole studies; null to play none. */
  readonly stalls: number | null;
}

const AFTER = [6, 9, 12] as const;
const MEASUREMENTS = 12;
const NEAR = 0.97;

/** Mechanisms that are left out together. */
export type LeftOut = readonly Mechanism[];

/**
 * Returns the name of the mechanisms left out, in tables and on the command line: `staying`, or
 * `staying+repeating`; null for none.
 */
export const formatLabel = (leftOut: LeftOut): string | null => (leftOut.length === 0 ? null : leftOut.join('+'));

/** Runs the default sampler on a problem, without these mechanisms. */
export async function playAblation(
  problem: BudgetedProblem,
  leftOut: LeftOut,
  { seed, stalls }: AblationOptions,
): Promise<AblationRow> {
  const asks: number[] = [];
  const without: Without = new Set(leftOut);
  const make: MakeSampler = (space, setup) => timed(queueingSampler(space, { ...setup, without }), asks);
  const { standings, promises } = await contest(problem, make, MEASUREMENTS, { seed, statistics: true });
  const askMs = mean(asks);
  const shareAfter = (count: number): number => standings[count - 1]?.share ?? 0;
  const study = stalls === null ? null : (await playStudy(problem, make, { seed, statistics: true, stalls })).share;
  return {
    without: formatLabel(leftOut),
    testProblem: problem.testProblem.name,
    tightness: problem.tightness,
    seed,
    after: [shareAfter(AFTER[0]), shareAfter(AFTER[1]), shareAfter(AFTER[2])],
    untilNear: countUntilNear(standings.map(({ share }) => share)),
    reloads: standings.at(-1)?.reloads ?? 0,
    askMs,
    study,
    promises,
  };
}

/**
 * Returns the measurements until 97 % of the optimum, by the share after each; one more than there
 * are if it was not reached.
 */
export function countUntilNear(shares: readonly number[]): number {
  const near = shares.findIndex((share) => share >= NEAR);
  return near < 0 ? shares.length + 1 : near + 1;
}

function timed(sampler: Sampler, asks: number[]): Sampler {
  return {
    ...sampler,
    ask(...question) {
      const start = performance.now();
      try {
        return sampler.ask(...question);
      } finally {
        asks.push(performance.now() - start);
      }
    },
  };
}

/** The cost of leaving something out. */
export interface AblationSummary {
  readonly without: string | null;
  readonly problems: number;
  /** Shares after 6, 9 and 12 measurements: median, worst tenth and mean. */
  readonly after: readonly { readonly median: number; readonly worstTenth: number; readonly mean: number }[];
  readonly untilNear: number;
  readonly reloads: number;
  readonly askMs: number;
  readonly study: { readonly mean: number; readonly worstTenth: number } | null;
  /**
   * The mean difference of the share with and without the mechanism, paired by problem and seed,
   * with its 95 % interval: after each of the counts, and in whole studies. null for the row
   * without anything left out.
   */
  readonly worth: { readonly after: readonly Interval[]; readonly study: Interval | null } | null;
}

/** Returns one summary for each set of mechanisms left out, in the order of the rows. */
export function ablationSummaries(rows: readonly AblationRow[]): readonly AblationSummary[] {
  const whole = new Map(rows.filter(({ without }) => without === null).map((row) => [toKey(row), row]));
  return [...Map.groupBy(rows, ({ without }) => without)].map(([without, rows]) => {
    const pairs = rows.flatMap((row) => {
      const all = whole.get(toKey(row));
      return all ? [{ testProblem: row.testProblem, all, row }] : [];
    });
    const studies = rows.flatMap(({ study }) => study ?? []);
    const worthBy = (of: (row: AblationRow) => number): Interval =>
      pairedDifference(
        pairs.map(({ testProblem, all, row }) => ({ group: testProblem, difference: of(all) - of(row) })),
      );
    return {
      without,
      problems: rows.length,
      after: AFTER.map((_, index) => summarizeShares(rows.map(({ after }) => after[index] as number))),
      untilNear: mean(rows.map((row) => row.untilNear)),
      reloads: mean(rows.map(({ reloads }) => reloads)),
      askMs: mean(rows.map(({ askMs }) => askMs)),
      study: studies.length > 0 ? summarizeShares(studies) : null,
      worth:
        without === null
          ? null
          : {
              after: AFTER.map((_, index) => worthBy(({ after }) => after[index] as number)),
              study: studies.length > 0 ? worthBy(({ study }) => study ?? 0) : null,
            },
    };
  });
}

const toKey = ({ testProblem, tightness, seed }: AblationRow): string => `${testProblem} ${tightness} ${seed}`;

/** Summarizes shares of the optimum. Needs at least one. */
export function summarizeShares(shares: readonly number[]): { median: number; worstTenth: number; mean: number } {
  const sorted = [...shares].sort((a, b) => a - b);
  return { median: quantileSorted(sorted, 0.5), worstTenth: quantileSorted(sorted, 0.1), mean: mean(sorted) };
}

/**
 * Returns the mean difference with its 95 % interval by Student's t. Problems of one group are
 * dependent, so the mean of each group counts once.
 */
export function pairedDifference(
  differences: readonly { readonly group: string; readonly difference: number }[],
): Interval {
  const groups = [...Map.groupBy(differences, ({ group }) => group).values()].map((group) =>
    mean(group.map(({ difference }) => difference)),
  );
  const value = mean(groups);
  if (groups.length < 2) return { value, low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY };
  const half = (confidenceFactor(groups.length - 1) * sampleStandardDeviation(groups)) / Math.sqrt(groups.length);
  return { value, low: value - half, high: value + half };
}
