import { isTrituneError } from '#base/errors.ts';
import { canonicalJson, type Json } from '#base/json.ts';
import { didYouMean } from '#base/nearest.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import type { Artifact } from './artifact.ts';
import { type BoundSpace, bindSpace, boundTo, tritonFaults } from './bound-space.ts';
import { describeCondition, holds } from './condition.ts';
import { applyWrites } from './edits/apply-writes.ts';
import { withoutServerDefaults } from './edits/server-defaults.ts';
import { engineCandidate } from './engine-candidate.ts';
import { withPolicy } from './engine-law.ts';
import { evaluate } from './evaluate.ts';
import { toCandidate } from './model-configs.ts';
import { createScene, optionsIn } from './options.ts';
import type { Assignment, Candidate, CandidateOutcome, FieldWrite, ParameterOption, SearchSpace } from './types.ts';

/**
 * Returns the base config with the assignment's values, or why that is no legal config. A parameter
 * without a value keeps the base config's own; the empty assignment is the base config and always
 * legal. The base config is not changed.
 */
export function buildCandidate(space: SearchSpace, base: Candidate, assignment: Assignment): CandidateOutcome {
  return buildBound(bindSpace(space, base), assignment);
}

/** `buildCandidate` for a space that is already bound to its base config. */
export function buildBound(bound: BoundSpace, assignment: Assignment): CandidateOutcome {
  const built = toConfig(bound, assignment);
  if ('reason' in built) return { legal: false, reason: built.reason };
  return { legal: true, candidate: candidateIn(bound, built, assignment) };
}

function candidateIn(bound: BoundSpace, { config, artifact }: Legal, assignment: Assignment): Candidate {
  const { space, base } = bound;
  const candidate = space.engine
    ? engineCandidate(base, config, assignment, artifact, space.engine)
    : toCandidate(config, assignment, artifact);
  return space.law ? withPolicy(candidate, space.law, createScene(bound, assignment, config)) : candidate;
}

type Legal = { readonly config: ModelConfig; readonly artifact?: Artifact };
type Built = Legal | { readonly reason: string };

/** Returns the legal config of the assignment, or why there is none. */
export function toConfig(space: BoundSpace, assignment: Assignment): Built {
  const bound = boundTo(space, assignment);
  if (Object.keys(assignment).length === 0) return { config: bound.base };
  const chosen = chosenOptions(bound, assignment);
  if (!Array.isArray(chosen)) return { reason: chosen as string };
  const writes = (chosen as ParameterOption[]).flatMap((option) => option.writes);
  const written = writtenInto(bound.base, writes);
  if ('reason' in written) return written;
  const reason = brokenRule(bound, assignment, written.config) ?? newFault(bound, written.config);
  if (reason !== undefined) return { reason };
  const artifact = (chosen as ParameterOption[]).find((option) => option.artifact)?.artifact;
  return { ...written, ...(artifact && { artifact }) };
}

/**
 * Returns the option of each assigned parameter in the space's order, or why the assignment does
 * not fit the space.
 */
function chosenOptions(bound: BoundSpace, assignment: Assignment): ParameterOption[] | string {
  const stranger = Object.keys(assignment).find((name) => !bound.byName.has(name));
  if (stranger !== undefined) {
    return `the search space has no parameter '${stranger}'${didYouMean(stranger, bound.byName.keys())}`;
  }
  const scene = createScene(bound, assignment);
  const options: ParameterOption[] = [];
  for (const setting of bound.settings) {
    const { name } = setting.parameter;
    if (!Object.hasOwn(assignment, name)) continue;
    const possible = optionsIn(setting, scene);
    if (possible.length === 0) return `${name} does not apply: ${whyNot(setting)}`;
    const targetValue = canonicalJson(assignment[name] as Json);
    const option = possible.find(({ value }) => canonicalJson(value) === targetValue);
    if (option === undefined) return `${targetValue} is not one of the values of ${name}: ${listed(possible)}`;
    options.push(option);
  }
  return options;
}

/** The most values that fit in a line. */
const MAX_LISTED = 12;

function listed(options: readonly ParameterOption[]): string {
  const values = options.slice(0, MAX_LISTED).map(({ value }) => canonicalJson(value));
  return [...values, ...(options.length > MAX_LISTED ? ['…'] : [])].join(', ');
}

function whyNot(setting: BoundSpace['settings'][number]): string {
  if (setting.obstacle !== '') return setting.obstacle;
  const needs = setting.cases.map(({ when }) => describeCondition(when));
  // A case that needs the same as another, and more, adds nothing.
  const least = needs.filter((each) => !needs.some((other) => each.startsWith(`${other} and `)));
  return `it needs that ${least.join(' or ')}`;
}

/**
 * Returns the config with the values, normalised so that equal configs are equal; or why there is
 * none.
 */
function writtenInto(base: ModelConfig, writes: readonly FieldWrite[]): Built {
  const written = applyWrites(base, writes);
  if ('reason' in written) return written;
  try {
    return { config: withoutServerDefaults(written.config) };
  } catch (error) {
    if (isTrituneError(error, 'CONFIG_INVALID')) return { reason: error.message };
    throw error;
  }
}

/**
 * Returns a fault by Triton's rules that the base config, which the server has accepted, does not
 * have.
 */
function newFault(bound: BoundSpace, config: ModelConfig): string | undefined {
  const fault = tritonFaults(config).find((text) => !bound.baseFaults.has(text));
  return fault === undefined ? undefined : `Triton would refuse it: ${fault}`;
}

function brokenRule(bound: BoundSpace, assignment: Assignment, config: ModelConfig): string | undefined {
  const scene = createScene(bound, assignment, config);
  const broken = bound.space.rules.find((rule) => holds(rule.when, scene) && evaluate(rule.require, scene) === false);
  return broken?.message;
}
