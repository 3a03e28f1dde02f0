import { mean, quantileSorted } from 'simple-statistics';
import type { MakeSampler } from './contest.ts';
import { machineSpeed, type SpeedKind, slowestSpeed } from './machine-speed.ts';
import { type Landscape, problemsOf } from './problem.ts';
import { playStudy, type StudyOptions, type StudyOutcome } from './whole-study.ts';

/** Which samplers tune which problems in whole studies, and on which machines. */
export interface StudyPlan extends Omit<StudyOptions, 'speed'> {
  readonly samplers: Readonly<Record<string, MakeSampler>>;
  readonly landscapes: readonly Landscape[];
  /** How the speed of the machines changes; each study has a machine of its own. */
  readonly speedKind: SpeedKind;
  /** Each problem is tuned with so many seeds, from `seed` on. */
  readonly seeds: number;
}

/** One whole study of one sampler. */
export interface StudyResult {
  readonly sampler: string;
  readonly outcome: StudyOutcome;
}

/** Machines of different studies have seeds this far apart, so that none of them are the same. */
const MACHINES = 1000;

/** Lets every sampler tune every problem with every seed, on the same machine; tells after each study. */
export async function playStudies(
  plan: StudyPlan,
  tell: (result: StudyResult) => void,
): Promise<readonly StudyResult[]> {
  const problems = plan.landscapes.flatMap((landscape) => problemsOf(landscape, slowestSpeed[plan.speedKind]));
  const results: StudyResult[] = [];
  for (let seed = plan.seed; seed < plan.seed + plan.seeds; seed++) {
    for (const [index, problem] of problems.entries()) {
      const speed = machineSpeed(plan.speedKind, MACHINES * seed + index);
      for (const [sampler, make] of Object.entries(plan.samplers)) {
        const result = { sampler, outcome: await playStudy(problem, make, { ...plan, seed, speed }) };
        results.push(result);
        tell(result);
      }
    }
  }
  return results;
}

/** Shares of the optimum over whole studies, and what they cost on average. */
export interface StudySummary {
  readonly studies: number;
  readonly mean: number;
  readonly median: number;
  /** Nine in ten studies are above this. */
  readonly worstTenth: number;
  readonly worst: number;
  /** What the recommended configs would reach on average, each at its best level. */
  readonly configs: number;
  readonly measurements: number;
  readonly seconds: number;
}

/** Over the studies of one sampler; needs one at least. */
export function studySummaryOf(results: readonly StudyResult[]): StudySummary {
  const outcomes = results.map(({ outcome }) => outcome);
  const shares = outcomes.map(({ share }) => share).sort((a, b) => a - b);
  return {
    studies: outcomes.length,
    mean: mean(shares),
    median: quantileSorted(shares, 0.5),
    worstTenth: quantileSorted(shares, 0.1),
    worst: shares[0] as number,
    configs: mean(outcomes.map(({ configShare }) => configShare)),
    measurements: mean(outcomes.map(({ measurements }) => measurements)),
    seconds: mean(outcomes.map(({ seconds }) => seconds)),
  };
}
