import { FINAL_ROUNDS } from '#study/final/final.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { makeSampler } from '#study/search/samplers/registry.ts';
import type { TunerEvent } from '#tuner/seams.ts';
import { tune } from '#tuner/tune.ts';
import { createPlan, toGoal } from '../../lab/problems/contest.ts';
import type { MachineSpeed } from '../../lab/problems/machine-speed.ts';
import { listBudgetedProblems } from '../../lab/problems/problem.ts';
import { scenarios } from '../../lab/problems/problems.ts';
import { OfflineWorld } from '../../lab/problems/world.ts';

export interface OfflineStudy {
  readonly events: readonly TunerEvent[];
  readonly records: readonly StudyRecord[];
}

export const SLOWER_FROM_SECONDS = 15;

/** From then on the machine has 0.6 of its speed. */
export const slowerLater: MachineSpeed = (seconds) => (seconds < SLOWER_FROM_SECONDS ? 1 : 0.6);

const known = new Map<MachineSpeed | undefined, Map<number, Promise<OfflineStudy>>>();

/**
 * A whole study of a made-up model on the host of the load generator, its machine as fast as that;
 * played once.
 */
export function offlineStudy(speed?: MachineSpeed, model = 5): Promise<OfflineStudy> {
  const studies = known.get(speed) ?? new Map<number, Promise<OfflineStudy>>();
  known.set(speed, studies);
  const played = studies.get(model) ?? play(speed, model);
  studies.set(model, played);
  return played;
}

async function play(speed: MachineSpeed | undefined, model: number): Promise<OfflineStudy> {
  const testProblem = scenarios(6)[model];
  const problem = testProblem && listBudgetedProblems(testProblem)[1];
  if (!testProblem || !problem) throw new Error('there is no made-up model');
  const seed = 1;
  const world = new OfflineWorld(testProblem, { seed, statistics: true, isLocal: true, speed });
  const { space, levels } = testProblem;
  const goal = toGoal(problem);
  const [events, records]: [TunerEvent[], StudyRecord[]] = [[], []];
  await tune(
    { ...createPlan(problem, goal, seed), maxTrials: 12, finalRounds: FINAL_ROUNDS },
    {
      adapter: world.adapter,
      sampler: makeSampler('queueing', space, { seed, goal, levels }),
      journal: { append: async (record) => void records.push(record) },
      clock: world.clock,
    },
    (event) => events.push(event),
    new AbortController().signal,
  );
  return { events, records };
}
