import protobuf from 'protobufjs';
import type { Json } from '#base/json.ts';
import { messageType } from '../wire/proto.ts';

/** The scalar types that ModelConfig uses, by their protobuf names. */
export type IntegerKind = 'int32' | 'uint32' | 'int64' | 'uint64';
export type FloatKind = 'float' | 'double';
export type ScalarKind = IntegerKind | FloatKind | 'bool' | 'string';

export type ValueSchema =
  | { readonly type: 'scalar'; readonly scalar: ScalarKind }
  | {
      readonly type: 'enum';
      readonly numbers: ReadonlyMap<string, number>;
      readonly names: ReadonlyMap<number, string>;
    }
  | { readonly type: 'message'; readonly message: MessageSchema };

export interface FieldSchema {
  readonly name: string;
  readonly number: number;
  /**
   * `map`: the JSON form is an object by key, the text form a list of entries with `key` and
   * `value`.
   */
  readonly shape: 'single' | 'repeated' | 'map';
  readonly value: ValueSchema;
  readonly mapKey?: ScalarKind;
  /** The field's oneof, if any: such a field is present even at its default. */
  readonly oneof?: string;
}

export interface MessageSchema {
  readonly name: string;
  readonly isMapEntry: boolean;
  /** Ordered by field number. */
  readonly fields: readonly FieldSchema[];
  field(protoName: string): FieldSchema | undefined;
  /** Finds a field by its name in snake_case or in the camelCase of protobuf JSON. */
  jsonField(name: string): FieldSchema | undefined;
}

const scalarKinds: ReadonlySet<string> = new Set<ScalarKind>([
  'int32',
  'uint32',
  'int64',
  'uint64',
  'float',
  'double',
  'bool',
  'string',
]);

const schemas = new Map<protobuf.Type, MessageSchema>();

/** Returns the schema of ModelConfig, as `proto/model_config.proto` describes it. */
export function modelConfigSchema(): MessageSchema {
  return findSchema(messageType('ModelConfig'));
}

function findSchema(type: protobuf.Type): MessageSchema {
  const known = schemas.get(type);
  if (known) return known;
  const fields = type.fieldsArray.map(fieldSchema).sort((a, b) => a.number - b.number);
  const schema = messageSchema(type.name, fields, false);
  schemas.set(type, schema);
  return schema;
}

const entrySchemas = new Map<FieldSchema, MessageSchema>();

/** Returns the message that represents an entry of the map in text format: `key` and `value`. */
export function mapEntrySchema(map: FieldSchema): MessageSchema {
  const known = entrySchemas.get(map);
  if (known) return known;
  const key: ValueSchema = { type: 'scalar', scalar: map.mapKey ?? 'string' };
  const fields: FieldSchema[] = [
    { name: 'key', number: 1, shape: 'single', value: key },
    { name: 'value', number: 2, shape: 'single', value: map.value },
  ];
  const schema = messageSchema(`an entry of ${map.name}`, fields, true);
  entrySchemas.set(map, schema);
  return schema;
}

/** Returns the default value of the field. */
export function defaultValue(field: FieldSchema): Json {
  if (field.shape === 'map') return {};
  if (field.shape === 'repeated') return [];
  if (field.value.type === 'message') return {};
  if (field.value.type === 'enum') return field.value.names.get(0) ?? 0;
  if (field.value.scalar === 'string') return '';
  return field.value.scalar === 'bool' ? false : 0;
}

function messageSchema(name: string, fields: readonly FieldSchema[], isMapEntry: boolean): MessageSchema {
  const byName = new Map(fields.map((field) => [field.name, field]));
  const byJsonName = new Map(fields.map((field) => [camelCase(field.name), field]));
  return {
    name,
    isMapEntry,
    fields,
    field: (protoName) => byName.get(protoName),
    jsonField: (either) => byName.get(either) ?? byJsonName.get(either),
  };
}

function fieldSchema(field: protobuf.Field): FieldSchema {
  field.resolve();
  const base = { name: field.name, number: field.id, value: valueSchema(field) };
  if (field instanceof protobuf.MapField) return { ...base, shape: 'map', mapKey: scalarKind(field.keyType) };
  if (field.repeated) return { ...base, shape: 'repeated' };
  return field.partOf ? { ...base, shape: 'single', oneof: field.partOf.name } : { ...base, shape: 'single' };
}

function valueSchema(field: protobuf.Field): ValueSchema {
  const type = field.resolvedType;
  if (type instanceof protobuf.Type) return { type: 'message', message: findSchema(type) };
  if (type instanceof protobuf.Enum) {
    const pairs = Object.entries(type.values);
    return { type: 'enum', numbers: new Map(pairs), names: new Map(pairs.map(([name, number]) => [number, name])) };
  }
  return { type: 'scalar', scalar: scalarKind(field.type) };
}

function scalarKind(type: string): ScalarKind {
  if (!scalarKinds.has(type)) throw new Error(`no reading for protobuf type '${type}'`);
  return type as ScalarKind;
}

const camelCase = (name: string): string => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
