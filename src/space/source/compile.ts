import type { Json, JsonObject } from '#base/json.ts';
import { compileCondition, parametersIn } from '../condition.ts';
import { FieldFault } from '../edits/config-fields.ts';
import { parseExpression, parseValue } from '../expression.ts';
import type { Names } from '../subject.ts';
import type { EngineSettingNames, EngineTraits, Expression, Parameter, Rule, SearchSpace } from '../types.ts';
import { readDroppedFields } from './dropped.ts';
import type { EngineFile, LawFile } from './engine-form.ts';
import type { JoinedSpace, Placed } from './inherit.ts';
import { knownKnobNames } from './known-knobs.ts';
import { compileParameter } from './parameter.ts';
import type { RuleFile } from './schema.ts';
import { spaceInvalid } from './source-fault.ts';
import { VARIANT, variantParameter } from './variants.ts';

const rank = { expensive: 0, reload: 1, 'in-place': 2 } as const;

/** The possible values of the others depend on the model. */
const computeRank = ({ cases, change }: Parameter): number =>
  cases.some(({ options }) => options.some(({ model }) => model !== undefined)) ? -1 : rank[change];

/**
 * Orders the parameters for choosing: the one that chooses a model first; those that a condition
 * reads before the parameter with the condition; and otherwise the most expensive change first, so
 * that enumeration varies the cheap in-place changes fastest. Errors: SPACE_INVALID for circular
 * conditions.
 */
function orderParameters(parameters: readonly Parameter[], joined: JoinedSpace): Parameter[] {
  const ordered: Parameter[] = [];
  const waiting = new Set(parameters);
  const chosen = new Set<string>();
  const inSpace = new Set(parameters.map(({ name }) => name));
  const isReady = (parameter: Parameter): boolean =>
    conditionsOn(parameter).every((name) => chosen.has(name) || !inSpace.has(name));
  while (waiting.size > 0) {
    const next = [...waiting].filter(isReady).sort((a, b) => computeRank(a) - computeRank(b))[0];
    if (next === undefined) throw circleFault([...waiting], joined);
    waiting.delete(next);
    chosen.add(next.name);
    ordered.push(next);
  }
  return ordered;
}

function conditionsOn(parameter: Parameter): string[] {
  return parameter.cases.flatMap(({ when }) => parametersIn(when));
}

function circleFault(circle: readonly Parameter[], joined: JoinedSpace): Error {
  const names = circle.map(({ name }) => `'${name}'`).join(', ');
  const at = joined.parameters.get(circle[0]?.name ?? '')?.findPlace('when');
  const reason = `the conditions of ${names} depend on each other in a circle`;
  return spaceInvalid(at?.place ?? { label: joined.name, position: () => null }, at?.path ?? [], reason);
}

const toTraits = ({ version: _, ...traits }: EngineFile): EngineTraits => traits;

/** Reads a law's expressions. Errors: SPACE_INVALID with the place. */
function compileLaw({ value: law, place, path: at }: Placed<LawFile>, names: Names): EngineSettingNames {
  const parseOptionalExpression = (name: keyof LawFile): Expression | null => {
    const value: Json | undefined = law[name];
    if (value === undefined || value === null) return null;
    if (typeof value !== 'string') return { kind: 'value', value: value as number | boolean };
    try {
      return parseValue(value, names);
    } catch (error) {
      if (error instanceof FieldFault) throw spaceInvalid(place, [...at, name], error.message);
      throw error;
    }
  };
  return {
    maxSequences: parseOptionalExpression('maxSequences'),
    maxStepTokens: parseOptionalExpression('maxStepTokens'),
    chunksPrefill: parseOptionalExpression('chunksPrefill'),
    mixesPrefill: parseOptionalExpression('mixesPrefill'),
    kvCacheTokens: parseOptionalExpression('kvCacheTokens'),
    cachesPrefixes: parseOptionalExpression('cachesPrefixes'),
    gpus: parseOptionalExpression('gpus'),
  };
}

/**
 * Checks a joined space and compiles it for building candidates. Errors: SPACE_INVALID with the
 * place.
 */
export function compileSpace(inherited: JoinedSpace): SearchSpace {
  const joined = readDroppedFields(inherited);
  const names: Names = {
    parameters: new Set([
      ...knownKnobNames,
      ...joined.parameters.keys(),
      ...(joined.variants.size > 0 ? [VARIANT] : []),
    ]),
    limits: new Set(Object.keys(joined.limits)),
    config: false,
  };
  const parameters = [
    ...listVariants(joined),
    ...[...joined.parameters].map(([name, parameter]) =>
      compileParameter(name, parameter, names, joined.engine !== null),
    ),
  ];
  refuseSharedFields(parameters, joined);
  return {
    name: joined.name,
    description: joined.description,
    backend: joined.backend,
    limits: joined.limits,
    parameters: orderParameters(parameters, joined),
    rules: joined.rules.map((rule) => compileRule(rule, { ...names, config: true })),
    engine: joined.engine && toTraits(joined.engine),
    law: joined.law && compileLaw(joined.law, { ...names, config: true }),
    definition: toDefinition(joined),
  };
}

function listVariants({ variants, parameters }: JoinedSpace): readonly Parameter[] {
  if (variants.size === 0) return [];
  const place = parameters.get(VARIANT)?.findPlace('name');
  if (place)
    throw spaceInvalid(place.place, place.path, 'the variants are the values of this parameter: name it otherwise');
  return [variantParameter(variants)];
}

/** Checks a rule over these names. Errors: SPACE_INVALID with the place. */
export function compileRule(rule: Placed<RuleFile>, names: Names): Rule {
  let part: keyof RuleFile = 'when';
  try {
    const when = compileCondition(rule.value.when, names);
    part = 'require';
    const require = parseExpression(rule.value.require, names);
    return { name: rule.value.name ?? rule.value.require, when, require, message: rule.value.message };
  } catch (error) {
    if (error instanceof FieldFault) throw spaceInvalid(rule.place, [...rule.path, part], error.message);
    throw error;
  }
}

/** Two parameters that set one field would undo each other. */
function refuseSharedFields(parameters: readonly Parameter[], joined: JoinedSpace): void {
  const owners = new Map<string, string>();
  const whole = parameters.find(({ path }) => path?.length === 1 && path[0] === 'instance_group');
  for (const { name, cases } of parameters) {
    const isInside = whole !== undefined && name !== whole.name && setsInstances(cases);
    const place = joined.parameters.get(name)?.findPlace('path');
    if (isInside && place)
      throw spaceInvalid(place.place, place.path, `'${whole.name}' says where all instances are: drop '${name}'`);
    for (const { path } of cases.flatMap(({ options }) => options.flatMap(({ writes }) => writes))) {
      const field = JSON.stringify(path);
      const owner = owners.get(field) ?? name;
      owners.set(field, owner);
      if (owner === name) continue;
      const at = joined.parameters.get(name)?.findPlace('path');
      const reason = `it sets the same field as the parameter '${owner}'; use one parameter with cases`;
      if (at !== undefined) throw spaceInvalid(at.place, at.path, reason);
    }
  }
}

const setsInstances = (cases: Parameter['cases']): boolean =>
  cases.some(({ options }) => options.some(({ writes }) => writes.some(({ path }) => path[0] === 'instance_group')));

/** Returns the joined space as one file that inherits nothing. */
function toDefinition(joined: JoinedSpace): JsonObject {
  const file = {
    name: joined.name,
    description: joined.description === '' ? undefined : joined.description,
    backend: joined.backend ?? undefined,
    limits: joined.limits,
    parameters: Object.fromEntries([...joined.parameters].map(([name, { spec }]) => [name, spec])),
    variants:
      joined.variants.size === 0
        ? undefined
        : Object.fromEntries([...joined.variants].map(([name, { value }]) => [name, value])),
    rules: joined.rules.map(({ value }) => value),
    engine: joined.engine ?? undefined,
    law: joined.law?.value,
  };
  return JSON.parse(JSON.stringify(file)) as JsonObject;
}
