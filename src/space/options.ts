import type { Json } from '#base/json.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { type BoundSpace, boundTo, type Setting } from './bound-space.ts';
import { holds } from './condition.ts';
import { isMessage } from './edits/config-fields.ts';
import { readField } from './engine.ts';
import { knownKnob } from './source/known-knobs.ts';
import { type EvaluationContext, requirePath } from './subject.ts';
import type { Assignment, ConfigPath, ParameterOption } from './types.ts';

/**
 * Returns the values that the parameter can take with the others as assigned; none if it does not
 * apply.
 */
export function optionsFor(bound: BoundSpace, name: string, assignment: Assignment): readonly ParameterOption[] {
  const space = boundTo(bound, assignment);
  const setting = space.byName.get(name);
  return setting ? optionsIn(setting, createScene(space, assignment)) : [];
}

/** The same with the others as in the scene. */
export function optionsIn(setting: Setting, scene: EvaluationContext): readonly ParameterOption[] {
  return setting.cases.find(({ when }) => holds(when, scene))?.options ?? [];
}

/**
 * Returns the scene of an assignment for conditions and rules. A parameter that applies but has no
 * value of its own, or null, counts with the base config's value; so does a short name that is no
 * parameter of the space.
 */
export function createScene(space: BoundSpace, assignment: Assignment, config?: ModelConfig): EvaluationContext {
  const bound = boundTo(space, assignment);
  const known = new Map<string, Json | undefined>();
  const scene: EvaluationContext = {
    base: bound.base,
    limits: bound.space.limits,
    ...(config === undefined ? {} : { config }),
    parameter: (name) => {
      if (!known.has(name)) known.set(name, parameterValue(bound, assignment, name, scene));
      return known.get(name);
    },
  };
  return scene;
}

function parameterValue(
  bound: BoundSpace,
  assignment: Assignment,
  name: string,
  scene: EvaluationContext,
): Json | undefined {
  const setting = bound.byName.get(name);
  if (setting === undefined) {
    const knob = knownKnob(name);
    return knob === undefined ? undefined : baseValue(bound.base, requirePath(knob.path));
  }
  if (optionsIn(setting, scene).length === 0) return undefined;
  const value = Object.hasOwn(assignment, name) ? assignment[name] : null;
  if (value !== null && value !== undefined) return value;
  return setting.parameter.path === null ? undefined : baseValue(bound.base, setting.parameter.path);
}

/** Returns the base config's own value of a field; for a whole message, whether it is present. */
function baseValue(base: ModelConfig, path: ConfigPath): Json | undefined {
  const value = readField(base as Json, path);
  return isMessage(path) ? value !== undefined : value;
}
