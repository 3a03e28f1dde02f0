import { z } from 'zod';

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

/** The place of an option in a document: a section and a field of it, or a field outside sections. */
export type Place = readonly [section: string, field?: string];

/** Returns the place of every option that fills a document, by its name. */
export function placesIn(document: z.ZodObject, names: OptionNames): ReadonlyMap<string, Place> {
  const places = new Map<string, Place>();
  const add = (place: Place): void => {
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
