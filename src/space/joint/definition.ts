import { TrituneError } from '#base/errors.ts';
import { isJsonObject, type JsonObject } from '#base/json.ts';
import { composingModels } from '#triton/config/ensemble-rules.ts';
import type { ModelConfigs } from '../model-configs.ts';
import { spaceFromJson, spaceToJson } from '../source/load.ts';
import { readJsonSource } from '../source/source.ts';
import type { Candidate, SearchSpace } from '../types.ts';
import { type JointSpace, joinSpaces } from './joint-space.ts';

/**
 * Returns the spaces of all members by their models, and the rules over them, in the vocabulary of
 * a search-space file: for the journal.
 */
export const jointToJson = ({ members, across }: JointSpace): JsonObject => ({
  members: Object.fromEntries(members.map(({ model, space }) => [model, spaceToJson(space)])),
  ...across.definition,
});

/** True if a journal's space comes from `jointToJson`. */
export const isJointJson = (json: JsonObject): boolean => isJsonObject(json.members);

/** Returns the space that `jointToJson` wrote, over its joint original. Errors: SPACE_INVALID. */
export function jointFromJson({ members, ...across }: JsonObject, original: Candidate, front: string): JointSpace {
  const spaces = Object.entries(isJsonObject(members) ? members : {}).map(([model, definition]) => {
    if (isJsonObject(definition)) return [model, spaceFromJson(definition)] as const;
    throw new TrituneError('SPACE_INVALID', `the search space of '${model}' is invalid`, 'see docs/search-spaces.md');
  });
  return joinSpaces(Object.fromEntries(spaces), original, front, readJsonSource('search space of the journal', across));
}

/**
 * Returns a member's space with a rule for each of these ensembles that have the model as a step.
 * They are not the study's, and stay as they are; Triton (2.51) serves an ensemble only if every
 * batching model in it accepts batches at least as large.
 */
export function withinEnsembles(space: SearchSpace, model: string, ensembles: ModelConfigs): SearchSpace {
  const rules = Object.entries(ensembles)
    .filter(([, config]) => composingModels(config).includes(model) && (config.max_batch_size ?? 0) > 1)
    .map(([name, { max_batch_size: most = 0 }]) => ({
      name: `fits-${name}`,
      when: { 'base.max_batch_size': { at_least: 1 } },
      require: `config.max_batch_size >= ${most}`,
      message: `ensemble '${name}' takes batches of ${most}, and so must every model in it`,
    }));
  if (rules.length === 0) return space;
  const ownRules = (space.definition.rules ?? []) as readonly JsonObject[];
  return spaceFromJson({ ...space.definition, rules: [...ownRules, ...rules] });
}
