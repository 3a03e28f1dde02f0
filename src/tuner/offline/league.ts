import { quantileSorted } from 'simple-statistics';
import { contest, type MakeSampler, type Outcome, type Standing } from './contest.ts';
import { type Landscape, type Problem, problemsOf } from './problem.ts';
import type { WorldOptions } from './world.ts';

/** Which samplers meet which problems. */
export interface LeaguePlan extends WorldOptions {
  readonly samplers: Readonly<Record<string, MakeSampler>>;
  readonly landscapes: readonly Landscape[];
  /** Of one contest. */
  readonly measurements: number;
}

/** How one sampler did on one problem. */
export interface Result {
  readonly sampler: string;
  readonly outcome: Outcome;
}

/** Shares of the optimum over some problems, and what they cost on average. */
export interface Summary {
  readonly problems: number;
  readonly median: number;
  /** Nine in ten problems are above this. */
  readonly worstTenth: number;
  readonly worst: number;
  readonly reloads: number;
  readonly seconds: number;
  /** Measurements of one trial. */
  readonly levels: number;
}

/** Lets every sampler tune every problem; tells after each of them. */
export async function playLeague(plan: LeaguePlan, tell: (result: Result) => void): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (const landscape of plan.landscapes) {
    for (const problem of problemsOf(landscape)) {
      for (const result of await playProblem(plan, problem)) {
        results.push(result);
        tell(result);
      }
    }
  }
  return results;
}

async function playProblem(plan: LeaguePlan, problem: Problem): Promise<Result[]> {
  const results: Result[] = [];
  for (const [sampler, make] of Object.entries(plan.samplers))
    results.push({ sampler, outcome: await contest(problem, make, plan.measurements, plan) });
  return results;
}

/** Over the results of one sampler after so many measurements. Needs one result at least. */
export function summaryOf(results: readonly Result[], measurements: number): Summary {
  const standings = results.map(({ outcome }) => outcome.standings[measurements - 1] as Standing);
  const shares = standings.map(({ share }) => share).sort((a, b) => a - b);
  const mean = (of: (standing: Standing) => number): number =>
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

const levelsPerTrial = ({ stoppedAfter, standings, trials }: Outcome): number =>
  (stoppedAfter ?? standings.length) / Math.max(1, trials);

/** The chances that count as one when they are held against what became of them. */
const CHANCE_BANDS = [0, 0.3, 0.5, 0.7, 0.9, 1] as const;

/** Proposals that were given a chance from `low` up to `high`, and the share of them that truly met the goal. */
export interface ChanceBand {
  readonly low: number;
  readonly high: number;
  readonly proposals: number;
  readonly met: number;
}

/** How far chances are kept; bands without proposals are left out. */
export function chancesOf(results: readonly Result[]): readonly ChanceBand[] {
  const promises = results.flatMap(({ outcome }) => outcome.promises);
  return CHANCE_BANDS.slice(0, -1).flatMap((low, index) => {
    const high = CHANCE_BANDS[index + 1] as number;
    const own = promises.filter(({ chance }) => chance >= low && (chance < high || high === 1));
    const met = own.filter(({ isMet }) => isMet).length;
    return own.length === 0 ? [] : [{ low, high, proposals: own.length, met: met / own.length }];
  });
}

/** Where the sampler stopped by itself: how often, after how many measurements (median), and at what share (median); null if never. */
export function stopsOf(results: readonly Result[]): { stopped: number; measurements: number; share: number } | null {
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
