import type { Profile } from '../../src/emulator/profile/schema.ts';
import { originalOf } from '../../src/space/model-configs.ts';
import { spaceFromJson } from '../../src/space/source/load.ts';
import type { StudyRecord } from '../../src/study/records/records.ts';
import type { StudyState } from '../../src/study/records/state.ts';
import { viewSpace } from '../../src/study/search/samplers/space-view.ts';
import { goalOf, studyStarted } from '../study/builders.ts';
import { everyCandidate, play } from '../tuner/world.ts';
import { VirtualServer } from './virtual-server.ts';

/** Parameters of a search space, as in its file. */
export type Parameters = Readonly<Record<string, readonly (string | number)[]>>;

/** A whole study of a profile's only model in virtual time: every candidate of the space is tried. */
export async function tuneVirtually(
  profile: Profile,
  parameters: Parameters,
  budgetMs: number,
): Promise<{ state: StudyState; records: readonly StudyRecord[] }> {
  const server = new VirtualServer(profile);
  const { original } = server;
  const space = spaceFromJson({ name: 'test', parameters });
  const view = viewSpace(space, originalOf(original));
  const goal = goalOf(budgetMs);
  const {
    type: _,
    at: __,
    ...study
  } = studyStarted(goal, { model: original.name ?? '', original: originalOf(original) });
  const { state, error, records } = await play({
    goal,
    plan: { study },
    parts: {
      ...{ control: server.control, profile: server.profiler, clock: server.clock },
      ...{ build: view.build, sampler: everyCandidate(view) },
    },
  });
  if (!state) throw error;
  return { state, records };
}
