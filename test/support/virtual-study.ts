import type { EmulatorProfile } from '#emulator/profile/schema.ts';
import { toOriginal } from '#space/model-configs.ts';
import { spaceFromJson } from '#space/source/load.ts';
import type { SearchSpace } from '#space/types.ts';
import type { StudyRecord } from '#study/records/records.ts';
import type { StudyState } from '#study/records/state.ts';
import { queueingSampler } from '#study/search/queueing/queueing.ts';
import { type SpaceView, viewSpace } from '#study/search/samplers/space-view.ts';
import type { Goal, LevelRange, Sampler } from '#study/types.ts';
import { goalOf, studyStarted } from '../study/builders.ts';
import { everyCandidate, play } from '../tuner/world.ts';
import { VirtualServer } from './virtual-server.ts';

/** Parameters of a search space, as in its file. */
export type Parameters = Readonly<Record<string, readonly (string | number)[]>>;

/** A study of a profile's only model in virtual time, with its records. */
export interface VirtualStudy {
  readonly state: StudyState;
  readonly records: readonly StudyRecord[];
}

/**
 * A whole study of a profile's only model in virtual time: every candidate of the space is tried.
 */
export const tuneVirtually = (
  profile: EmulatorProfile,
  parameters: Parameters,
  budgetMs: number,
): Promise<VirtualStudy> =>
  playVirtually(profile, spaceFromJson({ name: 'test', parameters }), goalOf(budgetMs), (view) => everyCandidate(view));

/**
 * The same as the default sampler does it, at concurrencies up to `high` or at `levels`; `more`:
 * what the goal has beside the budget.
 */
export const searchVirtually = (
  profile: EmulatorProfile,
  space: SearchSpace,
  budgetMs: number,
  {
    high = 256,
    seed = 1,
    levels = { mode: 'concurrency', low: 1, high },
    more = {},
  }: {
    readonly high?: number;
    readonly seed?: number;
    readonly levels?: LevelRange;
    readonly more?: Partial<Goal>;
  } = {},
): Promise<VirtualStudy> => {
  const sampler = (view: SpaceView, goal: Goal): Sampler => queueingSampler(view, { seed, goal, levels });
  return playVirtually(profile, space, goalOf(budgetMs, more), sampler, levels);
};

async function playVirtually(
  profile: EmulatorProfile,
  space: SearchSpace,
  goal: Goal,
  samplerOf: (view: SpaceView, goal: Goal) => Sampler,
  levels?: LevelRange,
): Promise<VirtualStudy> {
  const server = new VirtualServer(profile);
  const { original } = server;
  const view = viewSpace(space, toOriginal(original));
  const {
    type: _,
    at: __,
    ...study
  } = studyStarted(goal, {
    model: original.name ?? '',
    original: toOriginal(original),
    ...(levels && { levels }),
  });
  const { state, error, records } = await play({
    goal,
    plan: { study },
    parts: {
      control: server.control,
      profile: server.profiler,
      clock: server.clock,
      build: view.build,
      sampler: samplerOf(view, goal),
    },
  });
  if (!state) throw error;
  return { state, records };
}
