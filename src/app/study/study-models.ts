import type { OriginalState } from '../../adapter/triton/model/control-options.ts';
import { otherModelsIn } from '../../space/other-models.ts';
import { loadSpace, spaceFromJson } from '../../space/source/load.ts';
import type { Limits, SearchSpace } from '../../space/types.ts';
import type { StudySpec } from '../../spec/study-spec.ts';
import type { TritonClient } from '../../triton/types.ts';
import { type OriginalModel, readOriginal } from '../server/open-server.ts';
import { controlOver, originalsOf } from './control-over.ts';
import type { OpenStudy } from './open-study.ts';

/** The models that a study may change, by name, and the search space that names them. */
export interface NamedModels {
  /** The study's own first. */
  readonly names: readonly [string, ...string[]];
  /** The space of a new study; null for the preset of its model's backend, and for a study that is resumed. */
  readonly space: SearchSpace | null;
}

/** They and how they were before. */
export interface StudyModels extends NamedModels {
  readonly own: OriginalModel;
  /** By name. */
  readonly others: ReadonlyMap<string, OriginalModel>;
}

/** Errors: SPACE_INVALID. */
export function modelsNamedBy({ spec, started }: Pick<OpenStudy, 'spec' | 'started'>): NamedModels {
  if (started) {
    const [, ...others] = originalsOf(started).map(({ model }) => model);
    return { names: [spec.model, ...others], space: null };
  }
  const space = givenSpace(spec);
  return { names: [spec.model, ...(space ? otherModelsIn(space, spec.model) : [])], space };
}

function givenSpace({ space, goal: { latencyBudgetMs } }: StudySpec): SearchSpace | null {
  if (typeof space === 'object') return spaceFromJson(space);
  if (space === undefined) return null;
  return loadSpace(space, { limits: limitsOf(latencyBudgetMs) });
}

/** What a budget says of a space's limits. */
export const limitsOf = (latencyBudgetMs: number | undefined): Limits =>
  latencyBudgetMs === undefined ? {} : { latency_budget_us: latencyBudgetMs * 1e3 };

/** Reads the models, and loads those that are not loaded; where one cannot be read all are left as they were. Errors: those of `readOriginal`. */
export async function readModels(client: TritonClient, named: NamedModels): Promise<StudyModels> {
  const [ownName, ...otherNames] = named.names;
  const own = await readOriginal(client, ownName);
  const others = new Map<string, OriginalModel>();
  try {
    for (const name of otherNames) others.set(name, await readOriginal(client, name));
    return { ...named, own, others };
  } catch (error) {
    await leaveAsTheyWere(client, { ...named, own, others });
    throw error;
  }
}

/** Unloads the models that only were loaded to look at them. Errors: RESTORE_FAILED. */
export async function leaveAsTheyWere(client: TritonClient, { names, own, others }: StudyModels): Promise<void> {
  const originals = [[names[0], own] as const, ...others].map(
    ([model, { config, wasLoaded }]): OriginalState => ({ model, config, wasLoaded }),
  );
  const loaded = originals.filter(({ wasLoaded }) => !wasLoaded);
  if (loaded.length > 0) await controlOver(client, loaded, 'config').restore();
}
