import { createHash } from 'node:crypto';
import { isTrituneError } from '../base/errors.ts';
import { canonicalJson, type Json } from '../base/json.ts';
import type { InstanceGroup, ModelConfig } from '../triton/model-config.ts';
import { type BoundSpace, bindSpace, optionsIn, sceneOf, tritonFaults } from './bound-space.ts';
import { describeCondition, holds } from './condition.ts';
import { evaluate } from './evaluate.ts';
import { didYouMean } from './nearest.ts';
import { withoutServerDefaults } from './server-defaults.ts';
import type { Assignment, CandidateOutcome, FieldWrite, ParameterOption, SearchSpace } from './types.ts';
import { writeField } from './write-field.ts';

/**
 * The base config with the assignment's values, or why that is no legal config. A parameter without a value keeps the base
 * config's own; the empty assignment is the base config and always legal. The base config is not changed.
 */
export function buildCandidate(space: SearchSpace, base: ModelConfig, assignment: Assignment): CandidateOutcome {
  return buildBound(bindSpace(space, base), assignment);
}

/** `buildCandidate` for a space that is already bound to its base config. */
export function buildBound(bound: BoundSpace, assignment: Assignment): CandidateOutcome {
  const built = configOf(bound, assignment);
  if ('reason' in built) return { legal: false, reason: built.reason };
  const digest = createHash('sha256')
    .update(canonicalJson(built.config as Json))
    .digest('hex');
  return { legal: true, candidate: { fingerprint: digest.slice(0, 12), assignment, config: built.config } };
}

type Built = { readonly config: ModelConfig } | { readonly reason: string };

/** The legal config of the assignment, or why there is none. */
export function configOf(bound: BoundSpace, assignment: Assignment): Built {
  if (Object.keys(assignment).length === 0) return { config: bound.base };
  const chosen = chosenOptions(bound, assignment);
  if (!Array.isArray(chosen)) return { reason: chosen as string };
  const writes = (chosen as ParameterOption[]).flatMap((option) => option.writes);
  const written = applyWrites(bound.base, writes);
  if ('reason' in written) return written;
  const reason = brokenRule(bound, assignment, written.config) ?? newFault(bound, written.config);
  return reason === undefined ? written : { reason };
}

/** The option of each assigned parameter in the space's order, or why the assignment does not fit the space. */
function chosenOptions(bound: BoundSpace, assignment: Assignment): ParameterOption[] | string {
  const stranger = Object.keys(assignment).find((name) => !bound.byName.has(name));
  if (stranger !== undefined) {
    return `the search space has no parameter '${stranger}'${didYouMean(stranger, bound.byName.keys())}`;
  }
  const scene = sceneOf(bound, assignment);
  const options: ParameterOption[] = [];
  for (const setting of bound.settings) {
    const { name } = setting.parameter;
    if (!Object.hasOwn(assignment, name)) continue;
    const possible = optionsIn(setting, scene);
    if (possible.length === 0) return `${name} does not apply: ${whyNot(setting)}`;
    const wanted = canonicalJson(assignment[name] as Json);
    const option = possible.find(({ value }) => canonicalJson(value) === wanted);
    if (option === undefined) return `${wanted} is not one of the values of ${name}`;
    options.push(option);
  }
  return options;
}

function whyNot(setting: BoundSpace['settings'][number]): string {
  if (setting.obstacle !== '') return setting.obstacle;
  return `it needs that ${setting.cases.map(({ when }) => describeCondition(when)).join(' or ')}`;
}

/** Writes into a copy, whole messages before the fields inside them. */
function applyWrites(base: ModelConfig, writes: readonly FieldWrite[]): Built {
  const config = structuredClone(base) as { [field: string]: Json | undefined };
  keepAddressedGroups(config, writes);
  for (const write of [...writes].sort((a, b) => a.path.length - b.path.length)) {
    const reason = writeField(config, write);
    if (reason !== undefined) return { reason };
  }
  leaveNoContradiction(config, writes);
  try {
    return { config: withoutServerDefaults(config as ModelConfig) };
  } catch (error) {
    if (isTrituneError(error, 'CONFIG_INVALID')) return { reason: error.message };
    throw error;
  }
}

/** A space that sets instance groups up to some index means these groups, not others besides. */
function keepAddressedGroups(config: ModelConfigDraft, writes: readonly FieldWrite[]): void {
  const indexes = writes.flatMap(({ path }) =>
    path[0] === 'instance_group' && typeof path[1] === 'number' ? [path[1]] : [],
  );
  if (indexes.length === 0) return;
  const groups = (config.instance_group ?? []) as readonly Json[];
  config.instance_group = groups.slice(0, Math.max(...indexes) + 1);
}

type ModelConfigDraft = { [field: string]: Json | undefined };

/** Takes out of the base config's own values those that cannot stay beside the new ones. */
function leaveNoContradiction(config: ModelConfigDraft, writes: readonly FieldWrite[]): void {
  const sets = (end: string): boolean => writes.some(({ path }) => path[path.length - 1] === end);
  const batching = (config as ModelConfig).dynamic_batching;
  if (batching?.preferred_batch_size !== undefined && !sets('preferred_batch_size')) {
    const fitting = batching.preferred_batch_size.filter(
      (size) => size <= ((config as ModelConfig).max_batch_size ?? 0),
    );
    config.dynamic_batching = { ...batching, preferred_batch_size: fitting };
  }
  if (!sets('kind') || sets('gpus')) return;
  const groups = (config as ModelConfig).instance_group ?? [];
  config.instance_group = groups.map(({ gpus, ...group }: InstanceGroup) =>
    gpus === undefined || group.kind === 'KIND_CPU' || group.kind === 'KIND_MODEL' ? group : { ...group, gpus },
  );
}

/** A fault by Triton's rules that the base config, which the server has accepted, does not have as well. */
function newFault(bound: BoundSpace, config: ModelConfig): string | undefined {
  const fault = tritonFaults(config).find((text) => !bound.baseFaults.has(text));
  return fault === undefined ? undefined : `Triton would refuse it: ${fault}`;
}

function brokenRule(bound: BoundSpace, assignment: Assignment, config: ModelConfig): string | undefined {
  const scene = sceneOf(bound, assignment, config);
  const broken = bound.space.rules.find((rule) => holds(rule.when, scene) && evaluate(rule.require, scene) === false);
  return broken?.message;
}
