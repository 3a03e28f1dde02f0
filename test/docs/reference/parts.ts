import { isDeepStrictEqual } from 'node:util';
import { definitionName, definitionOf, type JsonSchema } from './json-schema.ts';
import { type Source, sentence } from './type-words.ts';

/** A document, with the heading of its own object. */
export interface SchemaDocument extends Source {
  /** Not used for a document of several objects, whose headings are their names. */
  readonly name: string;
}

/** An object that gets a section, and the form of a definition that is more than one object. */
export interface Part {
  readonly heading: string;
  readonly intro: string;
  readonly schema: JsonSchema;
  /**
   * The document's own object, or the first of several: what is in its fields has their names as
   * headings.
   */
  readonly isFirst?: boolean;
}

/** Fields of an object that the section of another one describes. */
export interface Shared {
  readonly heading: string;
  readonly fields: readonly string[];
}

/**
 * Objects with more fields than this have a section of their own, and others are in the table of
 * the field that holds them.
 */
export const MAX_FIELDS_IN_PLACE = 6;

/**
 * Returns the parts that a page begins with: the document's own objects, after the fields that all
 * of them have.
 */
export function firstParts(of: SchemaDocument): readonly Part[] {
  return withCommonFields(of, rootsOf(of));
}

function rootsOf(of: SchemaDocument): readonly Part[] {
  const { document, name } = of;
  const union = document.anyOf ?? document.oneOf;
  const roots = union ?? [document];
  return roots.map((root, index) => {
    const reference = definitionName(root);
    const schema = reference === undefined ? root : definitionOf(document, reference);
    const heading = union ? (reference ?? String(schema.properties?.type?.const)) : name;
    return { heading, intro: sentence(schema.description), schema, isFirst: index === 0 };
  });
}

/**
 * Puts the fields that several roots share, and the one that names each, into a section before
 * them.
 */
function withCommonFields({ name }: SchemaDocument, roots: readonly Part[]): readonly Part[] {
  const [first, ...others] = roots;
  const { type, ...properties } = first?.schema.properties ?? {};
  const common = Object.entries(properties).filter(([field, schema]) =>
    others.every((other) => isDeepStrictEqual(other.schema.properties?.[field], schema)),
  );
  if (!first || others.length === 0 || type?.const === undefined || common.length === 0) return roots;
  const fields = ['type', ...common.map(([field]) => field)];
  const schema = {
    ...first.schema,
    properties: { type: { type: 'string', description: 'kind of the record' }, ...Object.fromEntries(common) },
  };
  return [
    { heading: name, intro: '', schema },
    ...roots.map((root) => ({ ...root, schema: without(root.schema, { heading: name, fields }) })),
  ];
}

/** Returns the earlier object that has most of the part's fields, if these are many. */
export function sharedWith(earlier: readonly Part[], { schema }: Part): Shared | null {
  const fields = Object.entries(schema.properties ?? {});
  const candidates = earlier.map(({ heading, schema: other }) => ({
    heading,
    fields: fields
      .filter(([name, each]) => isDeepStrictEqual(each, other.properties?.[name]) && sameNeed(name, schema, other))
      .map(([name]) => name),
  }));
  const [most] = candidates.toSorted((a, b) => b.fields.length - a.fields.length);
  return most && most.fields.length > MAX_FIELDS_IN_PLACE ? most : null;
}

const sameNeed = (name: string, one: JsonSchema, other: JsonSchema): boolean =>
  one.required?.includes(name) === other.required?.includes(name);

export function without(schema: JsonSchema, shared: Shared | null): JsonSchema {
  if (!shared) return schema;
  const properties = Object.entries(schema.properties ?? {}).filter(([name]) => !shared.fields.includes(name));
  return { ...schema, properties: Object.fromEntries(properties) };
}
