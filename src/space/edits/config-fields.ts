import type { Json, JsonObject } from '#base/json.ts';
import { didYouMean } from '#base/nearest.ts';
import { type FieldSchema, type MessageSchema, modelConfigSchema, type ValueSchema } from '#triton/config/schema.ts';
import { isSettingPath } from '../engine.ts';
import type { ConfigPath, FieldWrite, ParameterValue } from '../types.ts';
import { formatPath } from './config-path.ts';

/** The target of a path: a list or a map, or one value of a field or of those. */
type Shape =
  | ValueSchema
  /** A setting of a language model's engine: only the engine knows its possible values. */
  | { readonly type: 'any' }
  | { readonly type: 'list'; readonly item: ValueSchema }
  | { readonly type: 'map'; readonly item: ValueSchema };

/** Thrown for a path or a value that does not fit Triton's ModelConfig. */
export class FieldFault extends Error {}

/**
 * Checks that the path names a field of Triton's ModelConfig, by the protobuf types that the wire
 * uses. Throws a FieldFault that says where the path leaves them.
 */
export function checkPath(path: ConfigPath): void {
  shapeAt(path);
}

/**
 * Returns the write of `value` at the path, in the field's own type: numbers become text if the
 * field is text, one value becomes a list if it is a list, on/off becomes true/false; on/off at a
 * message makes it present or absent. `value` in the outcome is the value as in an assignment.
 * Throws a FieldFault if the value does not fit.
 */
export function fieldWrite(path: ConfigPath, value: Json): { value: ParameterValue; write: FieldWrite } {
  const shape = shapeAt(path);
  const plain = shape.type === 'message' || isBoolean(shape) ? onOff(value) : value;
  if (shape.type === 'message' && typeof plain === 'boolean') {
    return { value: plain, write: { action: plain ? 'ensure' : 'remove', path } };
  }
  return { value: plain, write: { action: 'set', path, value: fitted(shape, plain, formatPath(path)) } };
}

/** True when the path names a whole message, which is either present or absent. */
export function isMessage(path: ConfigPath): boolean {
  return shapeAt(path).type === 'message';
}

function shapeAt(path: ConfigPath): Shape {
  if (isSettingPath(path)) return settingShape(path);
  let shape: Shape = { type: 'message', message: modelConfigSchema() };
  for (const [depth, segment] of path.entries()) {
    const before = formatPath(path.slice(0, depth)) || 'the model config';
    if (shape.type === 'message' && typeof segment === 'string') shape = fieldShape(shape.message, segment, before);
    else if (shape.type === 'map' && typeof segment === 'string') shape = shape.item;
    else if (shape.type === 'list' && typeof segment !== 'string') shape = shape.item;
    else if (shape.type === 'list')
      throw new FieldFault(`${before} is a list: write ${before}[0] or ${before}[name=…]`);
    else throw new FieldFault(`${before} has no ${typeof segment === 'string' ? 'fields' : 'items'}`);
  }
  return shape;
}

/** Throws a FieldFault for a path that names all settings at once. */
function settingShape(path: ConfigPath): Shape {
  if (path.length > 1 && path.every((segment) => typeof segment === 'string')) return { type: 'any' };
  throw new FieldFault(`${formatPath(path)} is not a setting: name one, as in engine.max_num_seqs`);
}

function fieldShape(message: MessageSchema, name: string, before: string): Shape {
  const field = message.field(name);
  if (field === undefined) {
    const guess = didYouMean(
      name,
      message.fields.map((known: FieldSchema) => known.name),
    );
    throw new FieldFault(`${before} has no field '${name}'${guess}`);
  }
  if (field.shape === 'single') return field.value;
  return field.shape === 'map' ? { type: 'map', item: field.value } : { type: 'list', item: field.value };
}

const isBoolean = (shape: Shape): boolean => shape.type === 'scalar' && shape.scalar === 'bool';

/** As in a space file: `on` and `off` are true and false. */
export function onOff(value: Json): Json {
  if (value === 'on') return true;
  return value === 'off' ? false : value;
}

function fitted(shape: Shape, value: Json, where: string): Json {
  switch (shape.type) {
    case 'any':
      return value;
    case 'list':
      return (Array.isArray(value) ? value : [value]).map((item) => fitted(shape.item, item, where));
    case 'scalar':
      return fitScalar(shape.scalar, value, where);
    case 'enum':
      return fitEnum([...shape.numbers.keys()], value, where);
    default:
      return fitFields(shape, value, where);
  }
}

type Fields = Extract<Shape, { type: 'message' | 'map' }>;

function fitFields(shape: Fields, value: Json, where: string): Json {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw new FieldFault(`${where} takes fields, not ${JSON.stringify(value)}`);
  }
  const fields = Object.entries(value as JsonObject).map(([key, inner]) => {
    const innerShape = shape.type === 'map' ? shape.item : fieldShape(shape.message, key, where);
    return [key, fitted(innerShape, inner as Json, `${where}.${key}`)] as const;
  });
  return Object.fromEntries(fields);
}

function fitEnum(names: readonly string[], value: Json, where: string): Json {
  if (typeof value === 'string' && names.includes(value)) return value;
  const guess = typeof value === 'string' ? didYouMean(value, names) : '';
  throw new FieldFault(`${where} takes ${names.join(', ')}, not ${JSON.stringify(value)}${guess}`);
}

function fitScalar(type: string, value: Json, where: string): Json {
  if (type === 'string') {
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value);
  } else if (type === 'bool') {
    const plain = onOff(value);
    if (typeof plain === 'boolean') return plain;
  } else if (type === 'float' || type === 'double') {
    if (typeof value === 'number') return value;
  } else if (Number.isSafeInteger(value) && (!type.startsWith('u') || (value as number) >= 0)) {
    return value;
  }
  throw new FieldFault(`${where} takes ${typeName(type)}, not ${JSON.stringify(value)}`);
}

function typeName(type: string): string {
  if (type === 'string') return 'text';
  if (type === 'bool') return 'true or false';
  if (type === 'float' || type === 'double') return 'a number';
  return type.startsWith('u') ? 'a whole number from 0' : 'a whole number';
}
