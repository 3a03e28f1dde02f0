import { makeSampler } from '../../src/cli/samplers.ts';
import { FINAL_ROUNDS } from '../../src/study/final.ts';
import type { StudyRecord } from '../../src/study/records.ts';
import { goalOf, planOf } from '../../src/tuner/offline/contest.ts';
import { scenarios } from '../../src/tuner/offline/landscapes.ts';
import type { MachineSpeed } from '../../src/tuner/offline/machine-speed.ts';
import { problemsOf } from '../../src/tuner/offline/problem.ts';
import { OfflineWorld } from '../../src/tuner/offline/world.ts';
import type { TunerEvent } from '../../src/tuner/seams.ts';
import { tune } from '../../src/tuner/tune.ts';

export interface OfflineStudy {
  readonly events: readonly TunerEvent[];
  readonly records: readonly StudyRecord[];
}

/** From the 15th second on the machine has 0.6 of its speed. */
export const slowerLater: MachineSpeed = (seconds) => (seconds < 15 ? 1 : 0.6);

const known = new Map<MachineSpeed | undefined, Promise<OfflineStudy>>();

/** A whole study of a made-up model on the host of the load generator, its machine as fast as that; played once. */
export function offlineStudy(speed?: MachineSpeed): Promise<OfflineStudy> {
  const before = known.get(speed);
  if (before) return before;
  const played = play(speed);
  known.set(speed, played);
  return played;
}

async function play(speed: MachineSpeed | undefined): Promise<OfflineStudy> {
  const landscape = scenarios(6).at(-1);
  const problem = landscape && problemsOf(landscape)[1];
  if (!landscape || !problem) throw new Error('there is no made-up model');
  const seed = 1;
  const world = new OfflineWorld(landscape, { seed, statistics: true, isLocal: true, speed });
  const { space, levels } = landscape;
  const goal = goalOf(problem);
  const [events, records]: [TunerEvent[], StudyRecord[]] = [[], []];
  await tune(
    { ...planOf(problem, goal, seed), maxTrials: 12, finalRounds: FINAL_ROUNDS },
    {
      control: world.control,
      profile: world.profile,
      sampler: makeSampler('queueing', space, { seed, goal, levels }),
      journal: { append: async (record) => void records.push(record) },
      clock: world.clock,
    },
    (event) => events.push(event),
    new AbortController().signal,
  );
  return { events, records };
}
