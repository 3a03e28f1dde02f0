import { TrituneError } from '#base/errors.ts';
import { listed } from '#base/format.ts';
import { lookUp } from '#base/look-up.ts';
import { type ModelConfigs, toModelConfigs, toOriginal, toOtherConfigs } from '../model-configs.ts';
import type { SpaceSource } from '../source/source.ts';
import type { Assignment, Candidate, ParameterValue, SearchSpace } from '../types.ts';
import { type JointContext, joinCandidates } from './join-candidates.ts';
import { type JointRules, jointRules } from './joint-rules.ts';

/**
 * The search space of models that are tuned together: the product of the spaces of its members,
 * each over its own base config.
 */
export interface JointSpace {
  /** At least one, in the order of the topology's stages. */
  readonly members: readonly JointMember[];
  /**
   * The exact configs of all members; its `others` are those of the ensembles over them, whose
   * largest batch follows the members'.
   */
  readonly original: Candidate;
  /** The first front; a member, or one of the original's `others`. */
  readonly front: string;
  /** The rules over several members. */
  readonly across: JointRules;
}

/** A model that is tuned together with others. */
export interface JointMember {
  readonly model: string;
  readonly space: SearchSpace;
  /** Its own original: a candidate of this model alone. */
  readonly original: Candidate;
}

/**
 * Returns the original of models that are tuned together. `members`: their configs as the server
 * has them; `others`: those of ensembles over them. Errors: CONFIG_INVALID for a wrong config.
 */
export function jointOriginal(members: ModelConfigs, others: ModelConfigs, front: string): Candidate {
  const originals = Object.entries(members).map(([model, config]) => [model, toOriginal(config)] as const);
  const joined = joinCandidates(originals, { ensembles: others, front });
  const hasOthers = Object.keys(others).length > 0;
  return { ...joined, value: { models: members, ...(hasOthers && { others }) } };
}

/**
 * Returns the joint space of these spaces by model over a joint original, in the order of the
 * spaces. `across`: rules over several of them. Errors: SPACE_INVALID for a space of a model
 * without a config in the original, and for a rule that cannot be read.
 */
export function joinSpaces(
  spaces: Readonly<Record<string, SearchSpace>>,
  original: Candidate,
  front: string,
  across: SpaceSource | null = null,
): JointSpace {
  const configs = toModelConfigs(original);
  const members = Object.entries(spaces).map(([model, space]): JointMember => {
    const config = lookUp(configs, model);
    if (config) return { model, space, original: toOriginal(config) };
    throw new TrituneError('SPACE_INVALID', `the study has no model '${model}'`, `its models are ${names(configs)}`);
  });
  return { members, original, front, across: jointRules(spaces, across) };
}

const names = (configs: ModelConfigs): string => listed(Object.keys(configs));

/** Returns the context of the members. */
export const toSurroundings = ({ original, front }: JointSpace): JointContext => ({
  ensembles: toOtherConfigs(original),
  front,
});

/**
 * Returns the name of a member's parameter in assignments of the joint space. A Triton model's name
 * has no slash.
 */
export const jointName = (model: string, parameter: string): string => `${model}/${parameter}`;

/** Returns the member's assignment under the names of the joint space. */
export const jointly = <T>(
  model: string,
  parameters: { readonly [parameter: string]: T },
): { [parameter: string]: T } =>
  Object.fromEntries(Object.entries(parameters).map(([name, value]) => [jointName(model, name), value]));

/**
 * Returns each member's part of a record by joint names, such as an assignment or a narrowing, in
 * the order of the members; names of no member are left out.
 */
export function byMember<T>({ members }: JointSpace, joint: { readonly [parameter: string]: T }): Record<string, T>[] {
  const parts = new Map(members.map(({ model }) => [model, {} as Record<string, T>]));
  for (const [name, value] of Object.entries(joint)) {
    const slash = name.indexOf('/');
    const part = slash < 0 ? undefined : parts.get(name.slice(0, slash));
    if (part) part[name.slice(slash + 1)] = value;
  }
  return [...parts.values()];
}

/** Returns one assignment of the joint space from one of each member, in their order. */
export function joinAssignments({ members }: JointSpace, parts: readonly Assignment[]): Assignment {
  const joined: Record<string, ParameterValue> = {};
  for (const [index, { model }] of members.entries()) Object.assign(joined, jointly(model, parts[index] as Assignment));
  return joined;
}
