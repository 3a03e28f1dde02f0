import { isJsonObject, type Json, type JsonObject } from '#base/json.ts';
import { formatPath } from '#space/edits/config-path.ts';
import { knownKnob, knownKnobNames } from '#space/source/known-knobs.ts';
import type { ConfigPath } from '#space/types.ts';
import { type FieldSchema, type MessageSchema, modelConfigSchema, type ValueSchema } from '#triton/config/schema.ts';
import { invalid } from './read-file.ts';

/** Parameters of our search space: values by name, which is a short name or a path. */
export type SpaceParameters = { readonly [name: string]: readonly Json[] };

type KeyPath = readonly (string | number)[];

const MAX_VALUES = 1000;

/**
 * Reads `model_config_parameters`: fields of Triton's ModelConfig, where a list holds values to
 * try. In a field that is itself a list, only a list of lists does. Each field becomes a separate
 * parameter, so that all combinations are tried. If a list in a config has several items, they
 * become one parameter together. Errors: INPUT_INVALID with the path of the key.
 */
export function configParameters(parameters: JsonObject, file: string, at: KeyPath): SpaceParameters {
  const fail = (path: KeyPath, reason: string): never => {
    throw invalid(file, path, reason);
  };
  return Object.fromEntries(messageParameters(modelConfigSchema(), parameters, [], { at, fail }));
}

interface Place {
  readonly at: KeyPath;
  readonly fail: (path: KeyPath, reason: string) => never;
}

type Named = readonly (readonly [string, readonly Json[]])[];

const within = ({ at, fail }: Place, key: string | number): Place => ({ at: [...at, key], fail });

function messageParameters(message: MessageSchema, fields: JsonObject, path: ConfigPath, place: Place): Named {
  return Object.entries(fields).flatMap(([key, value]) =>
    fieldParameters(toField(message, key, place), value ?? null, [...path, key], within(place, key)),
  );
}

function fieldParameters(field: FieldSchema, value: Json, path: ConfigPath, place: Place): Named {
  const { value: schema, shape } = field;
  if (shape === 'map' && isJsonObject(value) && schema.type === 'message') {
    const { message } = schema;
    return Object.entries(value).flatMap(([key, entry]) =>
      isJsonObject(entry)
        ? messageParameters(message, entry, [...path, key], within(place, key))
        : named([...path, key], listValues(schema, entry ?? null, within(place, key)), place),
    );
  }
  if (shape === 'single' && schema.type === 'message' && (value === null || isJsonObject(value))) {
    // An empty message means that the field is present, which a space writes as true.
    const isEmpty = value === null || Object.keys(value).length === 0;
    return isEmpty ? named(path, [true], place) : messageParameters(schema.message, value, path, place);
  }
  const only = shape === 'repeated' && Array.isArray(value) && value.length === 1 ? (value[0] as Json) : null;
  if (schema.type === 'message' && isJsonObject(only) && field.name === 'instance_group') {
    return messageParameters(schema.message, only, [...path, 0], within(place, 0));
  }
  return named(path, fieldValues(field, value, place), place);
}

function named(path: ConfigPath, values: readonly Json[], { at, fail }: Place): Named {
  if (values.length === 0) fail(at, 'there is no value in it');
  if (values.length > MAX_VALUES) fail(at, `it has ${values.length} values, more than ${MAX_VALUES}`);
  const text = formatPath(path);
  const short = knownKnobNames.find((name) => knownKnob(name)?.path === text && !knownKnob(name)?.spell);
  return [[short ?? text, values]];
}

/** Returns every value of the field to try. */
function fieldValues({ shape, value: schema }: FieldSchema, value: Json, place: Place): readonly Json[] {
  if (shape === 'repeated') {
    const lists = isListOfLists(value) ? value : [value];
    return pickFew(lists).flatMap((list, index) => {
      const here = lists.length > 1 ? within(place, index) : place;
      const items: readonly Json[] = Array.isArray(list) ? list : [list];
      return product(items.map((item, at) => listValues(schema, item, within(here, at))));
    });
  }
  const values: readonly Json[] = Array.isArray(value) ? value : [value];
  if (shape === 'single') return values.flatMap((each) => listValues(schema, each, place));
  return values.flatMap((map) => {
    if (!isJsonObject(map)) return place.fail(place.at, 'expected keys with values');
    return entries(map, (key, entry) => listValues(schema, entry, within(place, key)));
  });
}

/** Every value of one item. */
function listValues(schema: ValueSchema, value: Json, place: Place): readonly Json[] {
  if (schema.type !== 'message') {
    const values: readonly Json[] = Array.isArray(value) ? value : [value];
    return values.map((each) => (each === null ? place.fail(place.at, 'expected a value') : each));
  }
  if (value !== null && !isJsonObject(value)) return place.fail(place.at, 'expected fields');
  return entries(value ?? {}, (key, entry) =>
    fieldValues(toField(schema.message, key, place), entry, within(place, key)),
  );
}

/** Returns all objects for the combinations of their fields' values. */
function entries(object: JsonObject, valuesAt: (key: string, value: Json) => readonly Json[]): readonly JsonObject[] {
  const keys = Object.keys(object);
  const all = product(keys.map((key) => valuesAt(key, object[key] ?? null)));
  return all.map((values) => Object.fromEntries(keys.map((key, index) => [key, values[index] as Json])));
}

/**
 * Returns all combinations, or slightly more than allowed: too many are refused without being made.
 */
const product = (lists: readonly (readonly Json[])[]): readonly (readonly Json[])[] =>
  lists.reduce<readonly (readonly Json[])[]>(
    (so, list) => pickFew(so.flatMap((before) => pickFew(list).map((value) => [...before, value]))),
    [[]],
  );

const pickFew = <T>(list: readonly T[]): readonly T[] => list.slice(0, MAX_VALUES + 1);

const isListOfLists = (value: Json): value is readonly Json[] =>
  Array.isArray(value) && value.length > 0 && value.every((item) => Array.isArray(item));

function toField(message: MessageSchema, name: string, { at, fail }: Place): FieldSchema {
  return message.field(name) ?? fail([...at, name], `the model config has no such field here`);
}
