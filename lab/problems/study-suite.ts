import { mean, quantileSorted } from 'simple-statistics';
import type { MakeSampler } from './contest.ts';
import { machineSpeed, type SpeedKind, slowestSpeed } from './machine-speed.ts';
import { listBudgetedProblems, type TestProblem } from './problem.ts';
import { playStudy, type StudyOptions, type WholeStudyOutcome } from './whole-study.ts';

/** Samplers, problems and machines of a suite of whole studies. */
export interface StudyPlan extends Omit<StudyOptions, 'speed'> {
  readonly samplers: Readonly<Record<string, MakeSampler>>;
  readonly testProblems: readonly TestProblem[];
  /** How the speed of the machines changes; each study has its own machine. */
  readonly speedKind: SpeedKind;
  /** The number of seeds for each problem, from `seed` on. */
  readonly seeds: number;
}

/** One whole study of one sampler. */
export interface StudyResult {
  readonly sampler: string;
  readonly outcome: WholeStudyOutcome;
}

/** The distance of the seeds of machines between studies. */
const MACHINES = 1000;

/**
 * Runs every sampler on every problem with every seed, on the same machine. `tell` is called after
 * each study.
 */
export async function playStudies(
  plan: StudyPlan,
  tell: (result: StudyResult) => void,
): Promise<readonly StudyResult[]> {
  const problems = plan.testProblems.flatMap((testProblem) =>
    listBudgetedProblems(testProblem, slowestSpeed[plan.speedKind]),
  );
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

/** Shares of the optimum over whole studies, and their mean cost. */
export interface StudySummary {
  readonly studies: number;
  readonly mean: number;
  readonly median: number;
  /** The tenth percentile. */
  readonly worstTenth: number;
  readonly worst: number;
  /** The mean share that the recommended configs would reach, each at its best level. */
  readonly configs: number;
  readonly measurements: number;
  readonly seconds: number;
}

/** Summarises the studies of one sampler; needs at least one. */
export function summarizeStudies(results: readonly StudyResult[]): StudySummary {
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

/** Certificates of whole studies. */
export interface CertificateSummary {
  /** Studies that state a gain, and … */
  readonly stated: number;
  /** … those of them whose recommended config is within that gain of the optimum. */
  readonly held: number;
  /** The median of the stated gains, a fraction. */
  readonly median: number;
}

/** A share that is this near to the optimum counts as the optimum: levels are those of a grid. */
const NEAR = 0.005;

/** Summarises the certificates of studies; null if no study states a gain. */
export function summarizeCertificates(
  outcomes: readonly Pick<WholeStudyOutcome, 'certificate' | 'configShare'>[],
): CertificateSummary | null {
  const stated = outcomes.flatMap(({ certificate, configShare }) =>
    certificate?.gain == null ? [] : [{ gain: certificate.gain, configShare }],
  );
  if (stated.length === 0) return null;
  const held = stated.filter(({ gain, configShare }) => configShare * (1 + gain) >= 1 - NEAR).length;
  const gains = stated.map(({ gain }) => gain).sort((a, b) => a - b);
  return { stated: stated.length, held, median: quantileSorted(gains, 0.5) };
}
