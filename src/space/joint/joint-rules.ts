import type { JsonObject } from '#base/json.ts';
import { bindSpace } from '../bound-space.ts';
import { holds } from '../condition.ts';
import { evaluate } from '../evaluate.ts';
import { toModelConfig } from '../model-configs.ts';
import { createScene } from '../options.ts';
import { compileRule } from '../source/compile.ts';
import { knownKnobNames } from '../source/known-knobs.ts';
import type { SpaceSource } from '../source/source.ts';
import type { EvaluationContext, Names } from '../subject.ts';
import type { Assignment, Candidate, Limits, Rule, SearchSpace } from '../types.ts';

/** Relations over several models that every joint candidate must keep. */
export interface JointRules {
  readonly limits: Limits;
  readonly rules: readonly Rule[];
  /** The limits and rules in the vocabulary of the file: for the journal. */
  readonly definition: JsonObject;
}

/**
 * Reads rules over the parameters, the configs and the base configs of these models. Errors:
 * SPACE_INVALID.
 */
export function jointRules(spaces: Readonly<Record<string, SearchSpace>>, source: SpaceSource | null): JointRules {
  if (source === null) return { limits: {}, rules: [], definition: {} };
  const { place, file } = source;
  const { limits = {}, rules = [] } = file;
  const names: Names = {
    parameters: new Set(),
    limits: new Set(Object.keys(limits)),
    config: true,
    members: new Map(Object.entries(spaces).map(([model, space]) => [model, namesIn(space)])),
  };
  return {
    limits,
    rules: rules.map((value, index) => compileRule({ value, place, path: ['rules', index] }, names)),
    definition: JSON.parse(JSON.stringify({ limits: file.limits, rules: file.rules })) as JsonObject,
  };
}

const namesIn = ({ parameters, limits }: SearchSpace): Names => ({
  parameters: new Set([...knownKnobNames, ...parameters.map(({ name }) => name)]),
  limits: new Set(Object.keys(limits)),
  config: true,
});

/** One model of a joint candidate, as a rule sees it. */
export interface MemberInRules {
  readonly model: string;
  readonly space: SearchSpace;
  readonly original: Candidate;
  readonly assignment: Assignment;
  readonly candidate: Candidate;
}

/**
 * Returns the fault of a joint candidate by the first rule that it breaks; null if it satisfies
 * all.
 */
export function brokenJointRule({ rules, limits }: JointRules, members: readonly MemberInRules[]): string | null {
  if (rules.length === 0) return null;
  const scenes = new Map(
    members.map(({ model, space, original, assignment, candidate }) => [
      model,
      createScene(bindSpace(space, original), assignment, toModelConfig(candidate)),
    ]),
  );
  const scene: EvaluationContext = {
    base: {},
    limits,
    parameter: () => undefined,
    member: (model) => scenes.get(model),
  };
  const broken = rules.find((rule) => holds(rule.when, scene) && evaluate(rule.require, scene) === false);
  return broken?.message ?? null;
}
