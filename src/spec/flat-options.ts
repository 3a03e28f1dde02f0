import { z } from 'zod';
import { TrituneError } from '#base/errors.ts';
import type { Json, JsonObject } from '#base/json.ts';
import { describeFaults } from '#base/schema-faults.ts';
import { type SettableDocument, type SpecChange, withChange } from './spec-change.ts';

/**
 * A document with sections as one flat set of options, as the command line and the library take
 * them. An option is named as its field, without the unit: `limits.timeBudgetSeconds` is
 * `timeBudget`. Fields with another name, or none, are listed in a table of names by path.
 */

/** The names of options by the path of their fields; null for a field that no option fills. */
export type OptionNames = { readonly [path: string]: string | null };

/** Texts of options have units of their own, such as 10m or 500us. */
const UNIT = /(?:Seconds|Percent|Ms)$/;

type WithoutUnit<Name extends string> = Name extends `${infer Rest}Seconds`
  ? Rest
  : Name extends `${infer Rest}Percent`
    ? Rest
    : Name extends `${infer Rest}Ms`
      ? Rest
      : Name;

type NameOf<Path extends string, Field extends string, Names extends OptionNames> = Path extends keyof Names
  ? Names[Path] extends string
    ? Names[Path]
    : never
  : WithoutUnit<Field>;

/** The options that fill a section. */
export type FlatSection<Section extends string, Fields, Names extends OptionNames> = {
  readonly [F in keyof Fields as F extends string ? NameOf<`${Section}.${F}`, F, Names> : never]: Fields[F];
};

/** The options that fill fields outside sections. */
export type FlatFields<Fields, Names extends OptionNames> = {
  readonly [F in keyof Fields as F extends string ? NameOf<F, F, Names> : never]: Fields[F];
};

/**
 * The place of an option in a document: a section and a field of it, or a field outside sections.
 */
export type OptionPlace = readonly [section: string, field?: string];

/** Returns the place of every option that fills a document, by its name. */
export function placesIn(document: z.ZodObject, names: OptionNames): ReadonlyMap<string, OptionPlace> {
  const places = new Map<string, OptionPlace>();
  const add = (place: OptionPlace): void => {
    const path = place.join('.');
    const field = place.at(-1) ?? '';
    const name = Object.hasOwn(names, path) ? names[path] : field.replace(UNIT, '');
    if (name == null) return;
    if (places.has(name))
      throw new Error(`two fields are filled by '${name}': ${places.get(name)?.join('.')}, ${path}`);
    places.set(name, place);
  };
  for (const [name, schema] of Object.entries(document.shape)) {
    const section = unwrapped(schema);
    if (!(section instanceof z.ZodObject) || Object.hasOwn(names, name)) add([name]);
    else for (const field of Object.keys(section.shape)) add([name, field]);
  }
  return places;
}

/** Returns the schema of a field without what says that it may be absent. */
export function unwrapped(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)
    return unwrapped(schema.unwrap());
  return schema;
}

/** Returns the schema of the field at a place; undefined if there is none. */
export function fieldAt(document: z.ZodObject, [name, field]: OptionPlace): z.core.$ZodType | undefined {
  const schema = document.shape[name];
  if (field === undefined || schema === undefined) return schema;
  const section = unwrapped(schema);
  return section instanceof z.ZodObject ? section.shape[field] : undefined;
}

/** A document that one flat set of options fills. */
export interface FlatDocument extends SettableDocument {
  readonly names: OptionNames;
}

/**
 * Returns the options with the changes, with the defaults of the document, and checked by it;
 * options that fill no field stay as they are. Errors: USAGE with the path of the fault.
 */
export function filledOptions<Flat extends object>(
  options: object,
  { name, schema, names, page }: FlatDocument,
  changes: readonly SpecChange[] = [],
): Flat {
  const places = placesIn(schema, names);
  const filled = [...places].reduce<JsonObject>((json, [key, place]) => {
    const value = (options as Readonly<Record<string, Json | undefined>>)[key];
    return value === undefined ? json : withChange(json, { path: place as readonly string[], value });
  }, createEmpty(schema));
  const outcome = schema.safeParse(changes.reduce(withChange, filled));
  if (!outcome.success) {
    throw new TrituneError(
      'USAGE',
      `this is not a valid ${name}: ${describeFaults(outcome.error.issues)}`,
      `${page} lists the fields`,
    );
  }
  const read: Readonly<Record<string, unknown>> = outcome.data;
  const flat = [...places].map(([key, [section, field]]) => {
    const value = read[section];
    return [key, field === undefined ? value : (value as Readonly<Record<string, unknown>>)[field]] as const;
  });
  // The flat types are those of the fields (`FlatSection`), which the schema has just checked.
  return { ...options, ...Object.fromEntries(flat.filter(([, value]) => value !== undefined)) } as Flat;
}

/** Returns the names of the options whose fields the changes set. */
export function namesOfChanges(changes: readonly SpecChange[], { schema, names }: FlatDocument): ReadonlySet<string> {
  const isSet = (place: OptionPlace): boolean =>
    changes.some(({ path }) => place.every((part, index) => part === path[index]));
  return new Set([...placesIn(schema, names)].flatMap(([key, place]) => (isSet(place) ? [key] : [])));
}

/** Every section without a field. */
const createEmpty = (schema: z.ZodObject): JsonObject =>
  Object.fromEntries(
    Object.entries(schema.shape).flatMap(([name, each]) => (each instanceof z.ZodObject ? [[name, {}]] : [])),
  );
