import { TrituneError } from '#base/errors.ts';
import type { Json, JsonObject } from '#base/json.ts';
import type { ModelConfig } from './model-config.ts';
import { floatValue, integerValue, type Refuse } from './scalars.ts';
import {
  defaultValue,
  type FieldSchema,
  type MessageSchema,
  modelConfigSchema,
  type ScalarKind,
  type ValueSchema,
} from './schema.ts';

/** A value in a model config that does not fit its field. */
export class ConfigValueError extends TrituneError {
  override readonly name = 'ConfigValueError';
  /** Such as `instance_group[0].count`. */
  readonly path: string;
  readonly reason: string;

  constructor(path: string, reason: string) {
    super('CONFIG_INVALID', `model config: ${path || 'the whole'}: ${reason}`, 'give the field a value of its type');
    this.path = path;
    this.reason = reason;
  }
}

/**
 * Fields that our ModelConfig type promises for every tensor, even if the wire leaves out defaults.
 */
const promised: Readonly<Record<string, readonly string[]>> = {
  ModelInput: ['name', 'data_type', 'dims'],
  ModelOutput: ['name', 'data_type', 'dims'],
};

/**
 * Returns a model config in normal form, independent of its protocol or file. Takes protobuf JSON:
 * snake_case or camelCase names, enums by name in any case or by number, 64-bit integers as numbers
 * or text, null for absent. Returns snake_case, enum names, and integers as `Int64`. Leaves out
 * fields at their proto3 default (except a tensor's name, data_type and dims), keeps empty
 * messages, and carries unknown fields along. Errors: CONFIG_INVALID (a ConfigValueError with the
 * path) for a value that does not fit its field.
 */
export function normaliseConfig(json: unknown): ModelConfig {
  return normalMessage(modelConfigSchema(), json, '') as ModelConfig;
}

/**
 * Messages, lists and maps that are in normal form, and of what. Thousands of candidates share
 * nearly all of one config, which nobody changes in place, so that only what differs is looked at
 * again.
 */
const normalOnes = new WeakMap<object, MessageSchema | FieldSchema>();
const isNormal = (json: unknown, of: MessageSchema | FieldSchema): json is Json & object =>
  typeof json === 'object' && json !== null && normalOnes.get(json) === of;

function normalMessage(schema: MessageSchema, json: unknown, path: string): JsonObject {
  if (isNormal(json, schema)) return json as JsonObject;
  const source = objectAt(json, path);
  const values = new Map<FieldSchema, unknown>();
  const unknown: [string, Json][] = [];
  for (const [key, value] of Object.entries(source)) {
    if (value === undefined || value === null) continue;
    const field = schema.jsonField(key);
    if (!field) unknown.push([key, value as Json]);
    else if (values.has(field)) throw new ConfigValueError(at(path, field.name), 'given twice, in two spellings');
    else values.set(field, value);
  }
  const always = promised[schema.name] ?? [];
  const known: [string, Json][] = [];
  for (const field of schema.fields) {
    const isStated = values.has(field);
    const isPromised = always.includes(field.name);
    if (!isStated && !isPromised) continue;
    const value = isStated ? normalField(field, values.get(field), at(path, field.name)) : undefined;
    const kept = value ?? (isPromised ? defaultValue(field) : undefined);
    if (kept !== undefined) known.push([field.name, kept]);
  }
  // fromEntries makes own properties even for a key such as __proto__.
  const normal = Object.fromEntries([...known, ...unknown]);
  normalOnes.set(normal, schema);
  return normal;
}

/** Returns the field's normal value; undefined if it is a default that can be left out. */
function normalField(field: FieldSchema, json: unknown, path: string): Json | undefined {
  if (field.shape !== 'single') {
    if (isNormal(json, field)) return json;
    const all = field.shape === 'map' ? normalMap(field, json, path) : normalList(field, json, path);
    if (all !== undefined) normalOnes.set(all, field);
    return all;
  }
  const value = normalValue(field.value, json, path);
  const hasPresence = field.oneof !== undefined || field.value.type === 'message';
  return !hasPresence && value === defaultValue(field) ? undefined : value;
}

function normalMap(field: FieldSchema, json: unknown, path: string): JsonObject | undefined {
  const message = field.value.type === 'message' ? field.value.message : null;
  const entries = Object.entries(objectAt(json, path)).map(([key, value]): [string, Json] => [
    field.mapKey === 'string' ? key : String(normalScalar(field.mapKey as ScalarKind, key, refuseAt(path))),
    message !== null && isNormal(value, message)
      ? value
      : normalValue(field.value, value, `${path}[${JSON.stringify(key)}]`),
  ]);
  return entries.length > 0 ? Object.fromEntries(entries) : undefined;
}

function normalList(field: FieldSchema, json: unknown, path: string): Json[] | undefined {
  if (!Array.isArray(json)) throw new ConfigValueError(path, `expected a list, found ${toKind(json)}`);
  return json.length > 0 ? json.map((item, i) => normalValue(field.value, item, `${path}[${i}]`)) : undefined;
}

function normalValue(schema: ValueSchema, json: unknown, path: string): Json {
  if (schema.type === 'message') return normalMessage(schema.message, json, path);
  if (schema.type === 'scalar') return normalScalar(schema.scalar, json, refuseAt(path));
  if (typeof json === 'number') {
    // JSON has numbers that are no enum of protobuf, and that JSON cannot say again.
    const number = normalScalar('int32', json, refuseAt(path)) as number;
    return schema.names.get(number) ?? number;
  }
  if (typeof json !== 'string') throw new ConfigValueError(path, `expected an enum name, found ${toKind(json)}`);
  // An unknown name may come from a newer server; validateConfig reports it.
  return schema.numbers.has(json.toUpperCase()) ? json.toUpperCase() : json;
}

function normalScalar(kind: ScalarKind, json: unknown, refuse: Refuse): Json {
  switch (kind) {
    case 'string':
      if (typeof json !== 'string') return refuse(`expected text, found ${toKind(json)}`);
      return json.isWellFormed() ? json : refuse('the text holds half a character');
    case 'bool':
      if (json === true || json === 'true') return true;
      return json === false || json === 'false' ? false : refuse(`expected true or false, found ${toKind(json)}`);
    case 'float':
    case 'double':
      if (json === 'NaN' || json === 'Infinity' || json === '-Infinity') return json;
      if (typeof json === 'number') return floatValue(kind, json, refuse);
      if (typeof json === 'string' && /^-?\d+(\.\d+)?([eE][-+]?\d+)?$/.test(json))
        return floatValue(kind, Number(json), refuse);
      return refuse(`expected a number, found ${toKind(json)}`);
    default:
      if (typeof json === 'bigint') return integerValue(kind, json, refuse);
      if (typeof json === 'number' && Number.isInteger(json)) return integerValue(kind, BigInt(json), refuse);
      if (typeof json === 'string' && /^-?\d{1,20}$/.test(json)) return integerValue(kind, BigInt(json), refuse);
      return refuse(`expected a whole number, found ${toKind(json)}`);
  }
}

const at = (path: string, name: string): string => (path ? `${path}.${name}` : name);

const refuseAt =
  (path: string): Refuse =>
  (reason) => {
    throw new ConfigValueError(path, reason);
  };

function objectAt(json: unknown, path: string): object {
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw new ConfigValueError(path, `expected an object, found ${toKind(json)}`);
  return json;
}

function toKind(json: unknown): string {
  if (json === null) return 'null';
  if (Array.isArray(json)) return 'a list';
  if (typeof json === 'object') return 'an object';
  return JSON.stringify(String(json).slice(0, 60));
}
