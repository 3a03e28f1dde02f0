import { canonicalJson, type Json } from '#base/json.ts';
import { lookUp } from '#base/look-up.ts';
import { didYouMean } from '#base/nearest.ts';
import { modelConfigSchema } from '#triton/config/schema.ts';
import { both, compileCondition } from '../condition.ts';
import { FieldFault, fieldWrite } from '../edits/config-fields.ts';
import { type Names, requirePath } from '../subject.ts';
import type { ConfigPath, FieldWrite, Parameter, ParameterCase, ParameterOption, RelativeValue } from '../types.ts';
import type { JoinedParameter } from './inherit.ts';
import { knownKnob, knownKnobNames } from './known-knobs.ts';
import type { ValuesFile } from './schema.ts';
import { type FilePath, spaceInvalid } from './source-fault.ts';
import { listValues, ValueFault } from './value-set.ts';

const reserved = new Set(['any', 'not', 'and', 'or', 'min', 'max', 'count', 'true', 'false', 'device']);
const namePattern = /^(?!base\.|config\.|limits\.)[A-Za-z_][A-Za-z0-9_]*(?:[.[].*)?$/;
const valueKinds = ['values', 'range', 'powers', 'choices'] as const;

type Spell = (value: Json) => Json;

/**
 * Checks a parameter and computes the writes of each of its values; in an engine's space each is a
 * setting of the engine unless it says otherwise. Errors: SPACE_INVALID with the place.
 */
export function compileParameter(
  name: string,
  parameter: JoinedParameter,
  names: Names,
  isOfEngine = false,
): Parameter {
  const { spec } = parameter;
  const fail = createFailer(parameter);
  if (!namePattern.test(name) || reserved.has(name)) fail('name', [], `'${name}' cannot name a parameter`);
  const groups = spec.cases ?? [spec];
  const usesChoices = groups.every((group) => group.choices !== undefined);
  const target = usesChoices ? null : findTarget(name, parameter, isOfEngine);
  if (usesChoices && spec.path !== undefined) fail('path', [], 'choices name their own fields: leave out the path');
  if (spec.cases !== undefined) {
    const beside = valueKinds.find((kind) => spec[kind] !== undefined);
    if (beside !== undefined) fail(beside, [], `a parameter has either cases or ${beside}`);
  }
  const whole = attempt(parameter, 'when', [], () => compileCondition(spec.when, names));
  const cases = groups.map((group, index): ParameterCase => {
    const at = spec.cases === undefined ? null : index;
    const options = listOptions(group, target, parameter, at);
    if (at === null) return { when: whole, options };
    const condition = attempt(parameter, 'cases', [at, 'when'], () => compileCondition(spec.cases?.[at]?.when, names));
    return { when: both(whole, condition), options };
  });
  return {
    name,
    description: spec.description ?? knownKnob(name)?.description ?? '',
    path: target?.path ?? null,
    cases,
    change: spec.change ?? (cases.every(onlyInstances) ? 'in-place' : 'reload'),
    expects: new Map(Object.entries(spec.expects ?? {})),
  };
}

/**
 * A change of instance groups alone is made without reloading the model (docs/search-spaces.md).
 */
function onlyInstances({ options }: ParameterCase): boolean {
  return options.every(({ writes }) => writes.every(({ path }) => path[0] === 'instance_group'));
}

interface Target {
  readonly path: ConfigPath;
  readonly spell: Spell;
  /** The field that a value spelt as null removes. */
  readonly removed: ConfigPath;
  readonly relative?: (value: Json) => RelativeValue | undefined;
  readonly choices?: Readonly<Record<string, Readonly<Record<string, Json>>>>;
}

/**
 * Returns the field that the parameter sets: its own path, else the short name's, else its name
 * read as a path. Errors: SPACE_INVALID with the place.
 */
export function findTarget(name: string, parameter: JoinedParameter, isOfEngine: boolean): Target {
  const asIs: Spell = (value) => value;
  const plain = (key: string, text: string): Target => {
    const at = attempt(parameter, key, [], () => requirePath(text));
    return { path: at, spell: asIs, removed: at };
  };
  const { path } = parameter.spec;
  if (path !== undefined) return plain('path', path);
  if (isOfEngine && !/[.[]/.test(name)) return plain('name', `engine.${name}`);
  const knob = knownKnob(name);
  if (knob !== undefined) {
    const { spell = asIs, within = knob.path, relative, choices } = knob;
    const more = { ...(relative && { relative }), ...(choices && { choices }) };
    return { ...plain('name', knob.path), spell, removed: requirePath(within), ...more };
  }
  if (/[.[]/.test(name) || modelConfigSchema().field(name) !== undefined) return plain('name', name);
  const reason = `'${name}' is not a short name${didYouMean(name, knownKnobNames)}: give it a path or choices`;
  return createFailer(parameter)('name', [], reason);
}

function listOptions(
  group: ValuesFile,
  target: Target | null,
  parameter: JoinedParameter,
  caseIndex: number | null,
): ParameterOption[] {
  const within: FilePath = caseIndex === null ? [] : [caseIndex];
  const kinds = valueKinds.filter((kind) => group[kind] !== undefined);
  const place = (key: string, rest: FilePath): [string, FilePath] =>
    caseIndex === null ? [key, rest] : ['cases', [...within, key, ...rest]];
  const fail = createFailer(parameter);
  if (kinds.length === 0)
    return fail(caseIndex === null ? 'name' : 'cases', within, 'it has no values, range, powers or choices');
  if (kinds.length > 1) return fail(...place(kinds[1] as string, []), `a parameter has either ${kinds.join(' or ')}`);
  if (group.choices !== undefined) return listChoices(group.choices, parameter, place);
  const values = attemptValues(group, parameter, place);
  const options = values.map((value, index) =>
    attempt(parameter, ...place(kinds[0] as string, kinds[0] === 'values' ? [index] : []), () =>
      toOption(target as Target, value),
    ),
  );
  const texts = options.map(({ value }) => canonicalJson(value));
  const twice = texts.findIndex((text, index) => texts.indexOf(text) !== index);
  if (twice >= 0) return fail(...place('values', [twice]), `${texts[twice]} is there twice`);
  return options;
}

function toOption({ path, spell, removed, relative, choices }: Target, value: Json): ParameterOption {
  if (value === null) return { value, writes: [] };
  if (choices) {
    const fields = typeof value === 'string' ? lookUp(choices, value) : undefined;
    if (fields) return { value, writes: Object.entries(fields).map(([text, field]) => toWrite(text, field)) };
    throw new FieldFault(`${canonicalJson(value)} is not one of ${Object.keys(choices).join(', ')}`);
  }
  const followed = relative?.(value);
  if (followed) return { value, writes: [{ action: 'fit', path, value: followed }] };
  const spelled = spell(value);
  if (spelled === null) return { value, writes: [{ action: 'remove', path: removed }] };
  const fitted = fieldWrite(path, spelled);
  return { value: spelled === value ? fitted.value : value, writes: [fitted.write] };
}

function listChoices(
  choices: NonNullable<ValuesFile['choices']>,
  parameter: JoinedParameter,
  place: (key: string, rest: FilePath) => [string, FilePath],
): ParameterOption[] {
  if (Object.keys(choices).length === 0)
    return createFailer(parameter)(...place('choices', []), 'there is no choice in it');
  return Object.entries(choices).map(([value, fields]) => ({
    value,
    writes: Object.entries(fields).map(([text, field]) =>
      attempt(parameter, ...place('choices', [value, text]), () => toWrite(text, field)),
    ),
  }));
}

function toWrite(text: string, field: Json): FieldWrite {
  const path = requirePath(text);
  return field === null ? { action: 'remove', path } : fieldWrite(path, field).write;
}

function attemptValues(
  group: ValuesFile,
  parameter: JoinedParameter,
  place: (key: string, rest: FilePath) => [string, FilePath],
): readonly Json[] {
  try {
    return listValues(group);
  } catch (error) {
    if (error instanceof ValueFault) return createFailer(parameter)(...place(error.key, []), error.message);
    throw error;
  }
}

function attempt<T>(parameter: JoinedParameter, key: string, rest: FilePath, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof FieldFault) return createFailer(parameter)(key, rest, error.message);
    throw error;
  }
}

function createFailer(parameter: JoinedParameter): (key: string, rest: FilePath, reason: string) => never {
  return (key, rest, reason) => {
    const { place, path } = parameter.findPlace(key);
    throw spaceInvalid(place, [...path, ...rest], reason);
  };
}
