import { hasVariants } from '#adapter/variants/known-builds.ts';
import { TrituneError } from '#base/errors.ts';
import { lookUp } from '#base/look-up.ts';
import { didYouMean } from '#base/nearest.ts';
import { jointFromJson, withinEnsembles } from '#space/joint/definition.ts';
import type { StatedSpaces } from '#space/joint/given-spaces.ts';
import { type JointSpace, joinSpaces, jointOriginal } from '#space/joint/joint-space.ts';
import type { ModelConfigs } from '#space/model-configs.ts';
import { loadSpace } from '#space/source/load.ts';
import { presetFor } from '#space/source/presets.ts';
import type { Limits, SearchSpace } from '#space/types.ts';
import type { StudyStarted } from '#study/records/records.ts';
import { composingModels } from '#triton/config/ensemble-rules.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { splitConfigs, type Together } from './read-together.ts';
import type { ServedClients } from './served-clients.ts';

/**
 * Returns the joint space of a new study. Each model with instances gets the space given for it, or
 * for an ensemble of it, or the one given for all, or the preset of its backend. Errors:
 * SPACE_INVALID for a space with variants or of a model that is not tuned, and for an unreadable
 * rule.
 */
export function jointTarget(
  { topology, bystanders }: Together,
  configs: ModelConfigs,
  { whole, members, across }: StatedSpaces,
  limits: Limits,
  clients: ServedClients | null,
): JointSpace {
  const { stages } = topology;
  const stated = spreadEnsembles(members, configs, stages);
  const front = topology.fronts[0]?.model ?? '';
  const original = jointOriginal(...splitConfigs(topology, configs), front);
  const createSpace = (model: string): SearchSpace => {
    const searchSpace = stated.get(model) ?? whole;
    const space = withoutVariants(
      model,
      searchSpace ?? loadSpace(choosePreset(lookUp(configs, model) ?? {}), { limits }),
    );
    return clients?.serving(space, model, lookUp(configs, model) ?? {}) ?? space;
  };
  const spaces = stages.map((model) => [model, withinEnsembles(createSpace(model), model, bystanders)] as const);
  return joinSpaces(Object.fromEntries(spaces), original, front, across);
}

/**
 * Returns the spaces by models with instances: the space of an ensemble is that of each of its
 * models without one. Errors: SPACE_INVALID for a model that is not in the study.
 */
function spreadEnsembles(
  members: StatedSpaces['members'],
  configs: ModelConfigs,
  stages: readonly string[],
): ReadonlyMap<string, SearchSpace> {
  const spread = new Map<string, SearchSpace>();
  for (const [name, space] of Object.entries(members)) {
    const within = listStagesIn(name, configs, stages);
    if (within.length === 0) throw strange(name, stages);
    for (const stage of within) if (stage === name || !spread.has(stage)) spread.set(stage, space);
  }
  return spread;
}

function listStagesIn(name: string, configs: ModelConfigs, stages: readonly string[]): readonly string[] {
  const [within, seen] = [new Set<string>(), new Set<string>()];
  const open = [name];
  for (let model = open.pop(); model !== undefined; model = open.pop()) {
    if (stages.includes(model)) within.add(model);
    else if (!seen.has(model)) open.push(...composingModels(lookUp(configs, model) ?? {}));
    seen.add(model);
  }
  return [...within];
}

/** Returns the joint space of a resumed study. Errors: SPACE_INVALID. */
export const createJointTarget = ({ space, original, topology, model }: StudyStarted): JointSpace =>
  jointFromJson(space, original, topology?.fronts[0]?.model ?? model);

const choosePreset = ({ backend, platform }: ModelConfig): string => presetFor(backend || platform);

function withoutVariants(model: string, space: SearchSpace): SearchSpace {
  if (!hasVariants(space)) return space;
  const hint = 'tune the model alone to find its best variant, then tune that one together with the others';
  throw new TrituneError(
    'SPACE_INVALID',
    `'${model}' has variants, which cannot be tuned together with other models`,
    hint,
  );
}

function strange(model: string, stages: readonly string[]): TrituneError {
  const hint = `use one of ${stages.join(', ')}`;
  return new TrituneError(
    'SPACE_INVALID',
    `a search space names '${model}', which is not in the study${didYouMean(model, stages)}`,
    hint,
  );
}
