import { median } from 'simple-statistics';
import type { Candidate } from '../../src/space/types.ts';
import { FINAL_ROUNDS, representative } from '../../src/study/final/final.ts';
import { recommend } from '../../src/study/recommendation.ts';
import { usualTrials } from '../../src/study/search/samplers/registry.ts';
import type { EstimateSpeeds } from '../../src/study/speed/speeds.ts';
import type { Recommendation } from '../../src/study/summary/point-schema.ts';
import type { Certificate } from '../../src/study/types.ts';
import { tune } from '../../src/tuner/tune.ts';
import { createPlan, type MakeSampler, type Promised, toGoal } from './contest.ts';
import { type BudgetedProblem, computeWorth, isMetAt, problemAtSpeed } from './problem.ts';
import { OfflineWorld, type WorldOptions } from './world.ts';

/** The result of a whole study, including the final. */
export interface WholeStudyOutcome {
  readonly problem: BudgetedProblem;
  /**
   * The true throughput of the recommended config at its level as a share of the optimum, on a
   * machine as fast as this one was for at least a quarter of the study.
   */
  readonly share: number;
  /** The same for the config at its best level. */
  readonly configShare: number;
  /** The stated chance that the recommended level keeps the budget; null without one. */
  readonly promise: Promised | null;
  /** The certificate of the recommended config; null without one. */
  readonly certificate: Certificate | null;
  readonly measurements: number;
  readonly seconds: number;
}

/** Options of a whole study. */
export interface StudyOptions extends WorldOptions {
  /** How the study estimates the machine's speed; if absent, as real studies do. */
  readonly estimateSpeeds?: EstimateSpeeds | undefined;
}

/** Runs a whole study with the tuner's own loop, from the baseline to the end of the final. */
export async function playStudy(
  problem: BudgetedProblem,
  make: MakeSampler,
  options: StudyOptions,
): Promise<WholeStudyOutcome> {
  const { seed, estimateSpeeds } = options;
  const { space, levels, topology } = problem.testProblem;
  const goal = toGoal(problem);
  const world = new OfflineWorld(problem.testProblem, options);
  const usual = { seconds: world.usualSeconds(usualTrials('queueing') ?? 0), isAim: true, loads: 0, loadSeconds: 0 };
  const state = await tune(
    { ...createPlan(problem, goal, seed), usual, finalRounds: FINAL_ROUNDS },
    {
      adapter: world.adapter,
      sampler: make(space, { seed, goal, levels, topology, testProblem: problem.testProblem }),
      journal: { append: async () => undefined },
      clock: world.clock,
      ...(estimateSpeeds && { estimateSpeeds }),
    },
    () => undefined,
    new AbortController().signal,
  );
  const { seconds } = world;
  const best = state.best;
  const stands = best && representative(state, best);
  const judgedAt = usualSpeedsIn(world, seconds).map((speed) => problemAtSpeed(problem, speed));
  const worth = (level: number): number =>
    Math.max(
      0,
      ...judgedAt.map((judged) => (best ? computeWorth(judged.testProblem.truth(best.candidate, level), judged) : 0)),
    );
  const share = stands?.feasible ? worth(stands.measurement.level.value) : 0;
  return {
    problem,
    share,
    configShare: Math.max(share, ...problem.testProblem.gridLevels.map(worth)),
    promise:
      best && stands && toPromise(recommend(state, best), best.candidate, stands.measurement.level.value, judgedAt),
    certificate: state.finished?.certificate ?? null,
    measurements: state.counts.measurements,
    seconds,
  };
}

/** Judges a recommendation: it is kept if the truth at a usual speed keeps the budget. */
function toPromise(
  recommended: Recommendation | null,
  candidate: Candidate,
  level: number,
  judgedAt: readonly BudgetedProblem[],
): Promised | null {
  if (recommended?.chance == null) return null;
  return { chance: recommended.chance, isMet: judgedAt.some((judged) => isMetAt(judged, candidate, level)) };
}

/** A speed is usual from this share of the study's time on. */
const USUAL_SHARE = 1 / 4;
/** The width of the bins of speeds. */
const ALIKE = 0.1;

/** Returns the usual speeds; the median if there is none. */
export function usualSpeedsIn(world: OfflineWorld, seconds: number): readonly number[] {
  const all = Array.from({ length: Math.max(1, Math.floor(seconds)) }, (_, at) => world.speedBetween(at, at + 1));
  const groups = [...Map.groupBy(all, (speed) => Math.round(speed / ALIKE)).values()];
  const usual = groups.filter((group) => group.length >= USUAL_SHARE * all.length).map((group) => median(group));
  return usual.length > 0 ? usual : [median(all)];
}
