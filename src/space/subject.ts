import type { Json } from '#base/json.ts';
import { didYouMean } from '#base/nearest.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { checkPath, FieldFault } from './edits/config-fields.ts';
import { parseConfigPath } from './edits/config-path.ts';
import { readField } from './engine.ts';
import type { ConditionSubject, ConfigPath, Limits } from './types.ts';

/** The context in which a condition or a rule is evaluated. */
export interface EvaluationContext {
  readonly base: ModelConfig;
  readonly limits: Limits;
  /** The finished candidate's config; undefined while its parameters are still being chosen. */
  readonly config?: ModelConfig;
  /** The parameter's value; undefined if it does not apply. */
  parameter(name: string): Json | undefined;
  /** The scene of one of several models, for a rule over all of them. */
  member?(model: string): EvaluationContext | undefined;
}

/** The names that a subject may refer to. */
export interface Names {
  readonly parameters: ReadonlySet<string>;
  readonly limits: ReadonlySet<string>;
  /** True if the finished config is available. */
  readonly config: boolean;
  /**
   * Those of each model, for a rule over several: subjects are then `MODEL.SUBJECT`, or
   * `members["MODEL"].SUBJECT` for any name.
   */
  readonly members?: ReadonlyMap<string, Names>;
}

/**
 * Reads a subject such as `max_batch_size`, `base.max_batch_size`, `limits.cores`. Throws a
 * FieldFault for an unknown one.
 */
export function parseSubject(text: string, names: Names): ConditionSubject {
  if (names.members && !text.startsWith('limits.')) return memberSubject(text, names.members);
  if (names.parameters.has(text)) return { scope: 'parameter', name: text };
  if (text === 'device') return { scope: 'device' };
  const [, scope, rest] = /^(base|config|limits)\.(.+)$/.exec(text) ?? [];
  if (scope === 'limits') return limitSubject(rest as string, names);
  if (scope === 'base' || scope === 'config') {
    if (scope === 'config' && !names.config)
      throw new FieldFault(`'${text}': only a rule can look at the new config; use base.…`);
    return { scope, path: requirePath(rest as string) };
  }
  const known = [...names.parameters, ...[...names.limits].map((name) => `limits.${name}`), 'device'];
  throw new FieldFault(`there is no parameter '${text}'${didYouMean(text, known)}`);
}

function memberSubject(text: string, members: ReadonlyMap<string, Names>): ConditionSubject {
  for (const [model, names] of members) {
    const rest = [`${model}.`, `members["${model}"].`].find((start) => text.startsWith(start));
    if (rest !== undefined) return { scope: 'member', model, of: parseSubject(text.slice(rest.length), names) };
  }
  const hint = `begin it with ${[...members.keys()].map((model) => `${model}.`).join(', ')} or limits.`;
  throw new FieldFault(`'${text}' does not name a model of the study; ${hint}`);
}

function limitSubject(name: string, names: Names): ConditionSubject {
  if (names.limits.has(name)) return { scope: 'limits', name };
  throw new FieldFault(`there is no limit '${name}'${didYouMean(name, names.limits)}; name it under limits`);
}

/**
 * Returns the path that the text spells, if it names a field of the model config; else a
 * FieldFault.
 */
export function requirePath(text: string): ConfigPath {
  const parsed = parseConfigPath(text);
  if (!parsed.ok) throw new FieldFault(parsed.reason);
  checkPath(parsed.path);
  return parsed.path;
}

/** Returns the subject's value in the scene; undefined if there is none. */
export function subjectValue(subject: ConditionSubject, scene: EvaluationContext): Json | undefined {
  switch (subject.scope) {
    case 'parameter':
      return scene.parameter(subject.name);
    case 'limits':
      return (Object.hasOwn(scene.limits, subject.name) ? scene.limits[subject.name] : undefined) ?? undefined;
    case 'base':
      return readField(scene.base as Json, subject.path);
    case 'config':
      return readField(scene.config as Json | undefined, subject.path);
    case 'device':
      return chooseDevice(scene.base);
    case 'member': {
      const member = scene.member?.(subject.model);
      return member && subjectValue(subject.of, member);
    }
  }
}

/** Returns where the base config's instances run, by its first instance group. */
export function chooseDevice(base: ModelConfig): string {
  return String(base.instance_group?.[0]?.kind ?? 'KIND_AUTO')
    .replace('KIND_', '')
    .toLowerCase();
}
