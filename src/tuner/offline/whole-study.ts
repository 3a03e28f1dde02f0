import { median } from 'simple-statistics';
import { FINAL_ROUNDS, representative } from '../../study/final.ts';
import type { EstimateSpeeds } from '../../study/speed/speeds.ts';
import { usualTrials } from '../../study/usual-trials.ts';
import { tune } from '../tune.ts';
import { goalOf, type MakeSampler, planOf } from './contest.ts';
import { type Problem, problemAtSpeed, worthOf } from './problem.ts';
import { OfflineWorld, type WorldOptions } from './world.ts';

/** What a whole study of a problem came to, its final included. */
export interface StudyOutcome {
  readonly problem: Problem;
  /** Of the optimum, by what the recommended config truly does at its level, on a machine as fast as this one was for a quarter of the study at least. */
  readonly share: number;
  /** The same for the config alone: at whichever level is best for it. */
  readonly configShare: number;
  readonly measurements: number;
  readonly seconds: number;
}

export interface StudyOptions extends WorldOptions {
  /** How the study finds the speed of the machine; as studies do when not given. */
  readonly estimateSpeeds?: EstimateSpeeds | undefined;
}

/** Tunes the problem with the tuner's own loop, from the original config to the end of the final. */
export async function playStudy(problem: Problem, make: MakeSampler, options: StudyOptions): Promise<StudyOutcome> {
  const { seed, estimateSpeeds } = options;
  const { space, levels } = problem.landscape;
  const goal = goalOf(problem);
  const world = new OfflineWorld(problem.landscape, options);
  const usual = { seconds: world.usualSeconds(usualTrials('queueing') ?? 0), isAim: true, loads: 0, loadSeconds: 0 };
  const state = await tune(
    { ...planOf(problem, goal, seed), usual, finalRounds: FINAL_ROUNDS },
    {
      control: world.control,
      profile: world.profile,
      sampler: make(space, { seed, goal, levels }),
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
  const judgedAt = usualSpeeds(world, seconds).map((speed) => problemAtSpeed(problem, speed));
  const worth = (level: number): number =>
    Math.max(
      0,
      ...judgedAt.map((judged) => (best ? worthOf(judged.landscape.truth(best.candidate, level), judged) : 0)),
    );
  return {
    problem,
    share: stands?.feasible ? worth(stands.measurement.level.value) : 0,
    configShare: Math.max(0, ...problem.landscape.gridLevels.map(worth)),
    measurements: state.counts.measurements,
    seconds,
  };
}

/** So much of the study makes a speed one that the machine usually has. */
const USUAL_SHARE = 1 / 4;
/** Speeds in one of these steps are one. */
const ALIKE = 0.1;

/** The speeds that the machine had for a quarter of the study at least; the median where there is none. */
function usualSpeeds(world: OfflineWorld, seconds: number): readonly number[] {
  const all = Array.from({ length: Math.max(1, Math.floor(seconds)) }, (_, at) => world.speedBetween(at, at + 1));
  const groups = [...Map.groupBy(all, (speed) => Math.round(speed / ALIKE)).values()];
  const usual = groups.filter((group) => group.length >= USUAL_SHARE * all.length).map((group) => median(group));
  return usual.length > 0 ? usual : [median(all)];
}
