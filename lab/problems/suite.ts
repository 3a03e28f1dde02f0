import { quantileSorted } from 'simple-statistics';
import { type ContestOutcome, contest, type MakeSampler, type Promised, type SearchStanding } from './contest.ts';
import { type BudgetedProblem, listBudgetedProblems, type TestProblem } from './problem.ts';
import type { WorldOptions } from './world.ts';

/** Samplers and test problems of a benchmark suite. */
export interface SuitePlan extends WorldOptions {
  readonly samplers: Readonly<Record<string, MakeSampler>>;
  readonly testProblems: readonly TestProblem[];
  /** Measurements of one search. */
  readonly measurements: number;
}

/** The result of one sampler on one problem. */
export interface Result {
  readonly sampler: string;
  readonly outcome: ContestOutcome;
}

/** Shares of the optimum over some problems, and their mean cost. */
export interface SuiteSummary {
  readonly problems: number;
  readonly median: number;
  /** The tenth percentile. */
  readonly worstTenth: number;
  readonly worst: number;
  readonly reloads: number;
  readonly seconds: number;
  /** Mean measurements per trial. */
  readonly levels: number;
}

/** Runs every sampler on every problem. `tell` is called after each. */
export async function runSuite(plan: SuitePlan, tell: (result: Result) => void): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (const testProblem of plan.testProblems) {
    for (const problem of listBudgetedProblems(testProblem)) {
      for (const result of await playProblem(plan, problem)) {
        results.push(result);
        tell(result);
      }
    }
  }
  return results;
}

async function playProblem(plan: SuitePlan, problem: BudgetedProblem): Promise<Result[]> {
  const results: Result[] = [];
  for (const [sampler, make] of Object.entries(plan.samplers))
    results.push({ sampler, outcome: await contest(problem, make, plan.measurements, plan) });
  return results;
}

/**
 * Summarises the shares of the optimum that were reached within a number of server starts,
 * including the original's. Needs at least one result.
 */
export function sharesByStarts(
  results: readonly Result[],
  starts: number,
): Pick<SuiteSummary, 'median' | 'worstTenth' | 'worst'> {
  const shares = results
    .map(({ outcome }) => outcome.standings.findLast(({ reloads }) => reloads < starts)?.share ?? 0)
    .sort((a, b) => a - b);
  return { median: quantileSorted(shares, 0.5), worstTenth: quantileSorted(shares, 0.1), worst: shares[0] as number };
}

/**
 * Summarises the results of one sampler after this many measurements. Needs at least one result.
 */
export function summarize(results: readonly Result[], measurements: number): SuiteSummary {
  const standings = results.map(({ outcome }) => outcome.standings[measurements - 1] as SearchStanding);
  const shares = standings.map(({ share }) => share).sort((a, b) => a - b);
  const mean = (of: (standing: SearchStanding) => number): number =>
    standings.reduce((sum, standing) => sum + of(standing), 0) / standings.length;
  return {
    problems: results.length,
    median: quantileSorted(shares, 0.5),
    worstTenth: quantileSorted(shares, 0.1),
    worst: shares[0] as number,
    reloads: mean(({ reloads }) => reloads),
    seconds: mean(({ seconds }) => seconds),
    levels: results.reduce((sum, { outcome }) => sum + levelsPerTrial(outcome), 0) / results.length,
  };
}

const levelsPerTrial = ({ stoppedAfter, standings, trials }: ContestOutcome): number =>
  (stoppedAfter ?? standings.length) / Math.max(1, trials);

/** Bands of chances, for the calibration of the sampler's feasibility. */
const CHANCE_BANDS = [0, 0.3, 0.5, 0.7, 0.9, 1] as const;

/**
 * Statements with a chance from `low` up to `high`, and the share of them that were true.
 */
export interface ChanceBand {
  readonly low: number;
  readonly high: number;
  readonly count: number;
  readonly met: number;
}

/** Returns the calibration of stated chances; bands without any are left out. */
export function summarizeChances(promises: readonly Promised[]): readonly ChanceBand[] {
  return CHANCE_BANDS.slice(0, -1).flatMap((low, index) => {
    const high = CHANCE_BANDS[index + 1] as number;
    const keptPromises = promises.filter(({ chance }) => chance >= low && (chance < high || high === 1));
    const met = keptPromises.filter(({ isMet }) => isMet).length;
    return keptPromises.length === 0 ? [] : [{ low, high, count: keptPromises.length, met: met / keptPromises.length }];
  });
}

/**
 * Returns how often the sampler stopped by itself, and the medians of measurements and share then;
 * null if it never did.
 */
export function summarizeStops(
  results: readonly Result[],
): { stopped: number; measurements: number; share: number } | null {
  const ends = results.flatMap(({ outcome }) => {
    const last = outcome.standings.at(-1);
    return outcome.stoppedAfter === null || !last ? [] : [{ after: outcome.stoppedAfter, share: last.share }];
  });
  if (ends.length === 0) return null;
  const middle = (values: readonly number[]): number =>
    quantileSorted(
      [...values].sort((a, b) => a - b),
      0.5,
    );
  return {
    stopped: ends.length,
    measurements: middle(ends.map(({ after }) => after)),
    share: middle(ends.map(({ share }) => share)),
  };
}
