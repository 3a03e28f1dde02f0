import protobuf from 'protobufjs';
import type { Json, JsonObject } from '../base/json.ts';
import type { ModelConfig } from './model-config.ts';
import { messageType } from './proto.ts';

/**
 * The one spelling of a model config, from any that protobuf's JSON mapping allows (camelCase, enums by number or in
 * any case, 64-bit integers as text, defaults written out). Fields at their default are left out; a message that is
 * there but empty stays, because its presence means something (`dynamic_batching: {}`). Fields that our ModelConfig
 * does not have, and values that do not fit their field, stay as they are: the server is to judge them.
 * 64-bit integers beyond 2^53 stay decimal text, so that they keep their value.
 */
export function normalizeModelConfig(config: JsonObject): ModelConfig {
  return normalMessage(messageType('ModelConfig'), config);
}

function normalMessage(type: protobuf.Type, message: JsonObject): JsonObject {
  const normal: Record<string, Json> = {};
  for (const [key, value] of Object.entries(message)) {
    if (value === undefined) continue;
    const field = fieldNamed(type, key);
    if (!field) normal[key] = value;
    else if (value !== null) {
      const kept = normalField(field, value);
      if (kept !== undefined) normal[field.name] = kept;
    }
  }
  return normal;
}

function fieldNamed(type: protobuf.Type, key: string): protobuf.Field | undefined {
  const name = Object.hasOwn(type.fields, key) ? key : key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.hasOwn(type.fields, name) ? type.fields[name]?.resolve() : undefined;
}

/** The field's value in normal form; undefined when it says no more than absence does. */
function normalField(field: protobuf.Field, value: Json): Json | undefined {
  if (field.map) {
    if (!isObject(value)) return value;
    const entries = Object.entries(value).map(([key, entry]) => [key, normalValue(field, entry as Json)] as const);
    return entries.length > 0 ? Object.fromEntries(entries) : undefined;
  }
  if (field.repeated) {
    if (!Array.isArray(value)) return value;
    return value.length > 0 ? value.map((element) => normalValue(field, element)) : undefined;
  }
  const normal = normalValue(field, value);
  // In a oneof, which member is there is the message.
  return field.partOf || !isDefault(field, normal) ? normal : undefined;
}

function normalValue(field: protobuf.Field, value: Json): Json {
  const type = field.resolvedType;
  if (type instanceof protobuf.Type) return isObject(value) ? normalMessage(type, value) : value;
  if (type instanceof protobuf.Enum) return enumName(type, value);
  switch (field.type) {
    case 'int32':
    case 'uint32':
    case 'int64':
    case 'uint64':
      return typeof value === 'string' ? integerOf(value) : value;
    case 'float':
      return typeof value === 'number' ? shortestFloat32(value) : value;
    default:
      return value;
  }
}

function isDefault(field: protobuf.Field, value: Json): boolean {
  if (field.resolvedType instanceof protobuf.Enum) return value === field.resolvedType.valuesById[0];
  return value === 0 || value === false || value === '';
}

function enumName(type: protobuf.Enum, value: Json): Json {
  if (typeof value === 'number') return type.valuesById[value] ?? value;
  if (typeof value !== 'string' || Object.hasOwn(type.values, value)) return value;
  const upper = value.toUpperCase();
  return Object.hasOwn(type.values, upper) ? upper : value;
}

function integerOf(text: string): Json {
  const value = Number(text);
  return /^-?\d+$/.test(text) && Number.isSafeInteger(value) ? value : text;
}

/** The shortest decimal that is the same 32-bit float: 0.3, where the wire's own value reads 0.30000001192092896. */
function shortestFloat32(value: number): number {
  for (let digits = 1; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === Math.fround(value)) return short;
  }
  return value;
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
