import { isDeepStrictEqual } from 'node:util';
import { definitionName, definitionOf, formOfOthers, type JsonSchema } from './json-schema.ts';
import { code, linkTo, type Source, type TypeWords, typeWords } from './type-words.ts';
import { unitOf } from './unit-of.ts';

/** A document, with the heading of its own object. */
export interface SchemaDocument extends Source {
  /** Not used for a document of several objects, whose headings are their names. */
  readonly name: string;
}

/** One object of the document, with a table of its fields for each of its forms. */
export interface Section {
  readonly heading: string;
  readonly intro: string;
  /** Fields that an earlier section describes; null for none. */
  readonly shared: Shared | null;
  readonly tables: readonly Table[];
}

export interface Shared {
  readonly heading: string;
  readonly fields: readonly string[];
}

export interface Table {
  /** What distinguishes this form from the others; '' for an object with a single one. */
  readonly caption: string;
  readonly rows: readonly Row[];
}

export interface Row {
  readonly field: string;
  readonly type: string;
  readonly isRequired: boolean;
  /** As code; '' without one. */
  readonly defaultValue: string;
  /** A sentence without its full stop; '' if the schema has no description. */
  readonly meaning: string;
}

/** An object that gets a section, and the form of a definition that is more than one object. */
interface Part {
  readonly heading: string;
  readonly intro: string;
  readonly schema: JsonSchema;
}

/** Objects with more fields than this have a section of their own, and others are in the table of the field that holds them. */
const MOST_FIELDS_IN_PLACE = 6;

/** Returns the sections of a document: those of its roots first, then the objects that their fields refer to, in order. Errors: two objects with one heading. */
export function sectionsOf(of: SchemaDocument): readonly Section[] {
  const roots = rootsOf(of);
  const parts = [...withCommonFields(of, roots)];
  const first = roots[0]?.heading;
  const add = (part: Part): void => {
    const known = parts.find(({ heading }) => heading === part.heading);
    if (known && known.schema !== part.schema) throw new Error(`two objects are called '${part.heading}'`);
    if (!known) parts.push(part);
  };
  const sections: Section[] = [];
  // The list grows while it is read.
  for (const part of parts) {
    const headingOf = (name: string): string => (part.heading === first ? name : `${part.heading}.${name}`);
    const shared = sharedWith(parts.slice(0, parts.indexOf(part)), part);
    sections.push({ ...part, shared, tables: tablesOf(of, without(part.schema, shared), { add, headingOf }) });
  }
  return sections;
}

/** Returns the fields that have neither a description nor a fixed value, as `SECTION: FIELD`. */
export const undescribed = (sections: readonly Section[]): readonly string[] =>
  sections.flatMap(({ heading, tables }) =>
    tables.flatMap(({ rows }) =>
      rows.filter(({ meaning, type }) => meaning === '' && !isFixed(type)).map(({ field }) => `${heading}: ${field}`),
    ),
  );

const isFixed = (type: string): boolean => /^`[^`]*`$/.test(type);

function rootsOf(of: SchemaDocument): readonly Part[] {
  const { document, name } = of;
  const union = document.anyOf ?? document.oneOf;
  const roots = union ?? [document];
  return roots.map((root) => {
    const reference = definitionName(root);
    const schema = reference === undefined ? root : definitionOf(document, reference);
    const heading = union ? (reference ?? String(schema.properties?.type?.const)) : name;
    return { heading, intro: sentence(schema.description), schema };
  });
}

/** Puts the fields that several roots share, and the one that names each, into a section before them. */
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
function sharedWith(earlier: readonly Part[], { schema }: Part): Shared | null {
  const fields = Object.entries(schema.properties ?? {});
  const candidates = earlier.map(({ heading, schema: other }) => ({
    heading,
    fields: fields
      .filter(([name, each]) => isDeepStrictEqual(each, other.properties?.[name]) && sameNeed(name, schema, other))
      .map(([name]) => name),
  }));
  const [most] = candidates.toSorted((a, b) => b.fields.length - a.fields.length);
  return most && most.fields.length > MOST_FIELDS_IN_PLACE ? most : null;
}

const sameNeed = (name: string, one: JsonSchema, other: JsonSchema): boolean =>
  one.required?.includes(name) === other.required?.includes(name);

function without(schema: JsonSchema, shared: Shared | null): JsonSchema {
  if (!shared) return schema;
  const properties = Object.entries(schema.properties ?? {}).filter(([name]) => !shared.fields.includes(name));
  return { ...schema, properties: Object.fromEntries(properties) };
}

/** How a table tells others of the objects that it finds. */
interface Finder {
  add(part: Part): void;
  /** Returns the heading of the object in that field. */
  headingOf(field: string): string;
}

function tablesOf(of: SchemaDocument, schema: JsonSchema, finder: Finder): readonly Table[] {
  const { objects, linked } = typeWords(of, schema);
  addDefinitions(of, linked, finder);
  return objects.map(({ schema: object }) => {
    const fixed = objects.length === 1 ? undefined : fixedField(object);
    const rows = rowsOf(of, object, '', finder);
    return { caption: fixed ? captionOf(fixed) : '', rows: rows.filter(({ field }) => field !== fixed?.[0]) };
  });
}

type FixedField = readonly [name: string, schema: JsonSchema];

/** Returns the field that tells one form of an object from the others; undefined if their fields do. */
const fixedField = ({ properties = {} }: JsonSchema): FixedField | undefined =>
  Object.entries(properties).find(([, { const: value, enum: values }]) => value !== undefined || values !== undefined);

/** `kind: constant` */
const captionOf = ([name, { const: value, enum: values = [value] }]: FixedField): string =>
  values.map((each) => code(`${name}: ${each}`)).join(', ');

function rowsOf(of: SchemaDocument, object: JsonSchema, prefix: string, finder: Finder): readonly Row[] {
  const { properties = {}, required = [] } = object;
  const named = Object.entries(properties).flatMap(([name, schema]) =>
    rowsOfField(of, { name, schema, isRequired: required.includes(name) }, prefix, finder),
  );
  const others = formOfOthers(object);
  return others
    ? [...named, ...rowsOfField(of, { name: 'NAME', schema: others, isRequired: false }, prefix, finder)]
    : named;
}

interface Field {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly isRequired: boolean;
}

function rowsOfField(of: SchemaDocument, field: Field, prefix: string, finder: Finder): readonly Row[] {
  const { name, schema, isRequired } = field;
  const told = withOwnSection(of, field, finder);
  addDefinitions(of, told.linked, finder);
  const unit = /\bnumbers?\b/.test(told.words) ? unitOf(name) : undefined;
  const row: Row = {
    field: `${prefix}${name}`,
    type: unit === undefined ? told.words : `${told.words}, ${unit}`,
    isRequired,
    defaultValue: defaultOf(schema),
    meaning: sentence(descriptionOf(of, schema)),
  };
  const inner = told.objects.flatMap(({ suffix, schema: object }) =>
    rowsOf(of, object, `${prefix}${name}${suffix}.`, finder),
  );
  return [row, ...inner];
}

/** Gives large objects, and objects of several forms, a section that the field's type links to. */
function withOwnSection(of: SchemaDocument, { name, schema }: Field, finder: Finder): TypeWords {
  const told = typeWords(of, schema);
  const isSmall = told.objects.every(({ schema: object }) => countFields(of, object) <= MOST_FIELDS_IN_PLACE);
  if (told.objects.length < 2 && isSmall) return told;
  const heading = finder.headingOf(name);
  const [only, ...others] = told.objects;
  finder.add({ heading, intro: '', schema: only && others.length === 0 ? only.schema : schema });
  return { ...typeWords(of, schema, { objectWord: linkTo(heading) }), objects: [] };
}

const countFields = (of: SchemaDocument, { properties = {} }: JsonSchema): number =>
  Object.values(properties).reduce(
    (sum, schema) => typeWords(of, schema).objects.reduce((all, inner) => all + countFields(of, inner.schema), sum + 1),
    0,
  );

function addDefinitions(of: SchemaDocument, names: readonly string[], { add }: Finder): void {
  for (const name of names) {
    const schema = definitionOf(of.document, name);
    add({
      heading: name,
      intro: [sentence(schema.description), formsIn(of, schema)].filter(Boolean).join('. '),
      schema,
    });
  }
}

/** The forms of a definition that is more than one object. */
function formsIn(of: SchemaDocument, schema: JsonSchema): string {
  const { words, objects } = typeWords(of, schema);
  return objects.length === 0 || /^object(?: or null)?$/.test(words) ? '' : `Form: ${words}`;
}

const descriptionOf = (of: SchemaDocument, schema: JsonSchema): string | undefined => {
  const name = definitionName(schema);
  return schema.description ?? (name === undefined ? undefined : of.document.$defs?.[name]?.description);
};

/** Objects and lists that are empty by default need no word. */
function defaultOf({ default: value }: JsonSchema): string {
  const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0;
  return value === undefined || isEmpty ? '' : code(value);
}

/** Returns the text with a capital letter at its start, unless that is a name. */
function sentence(text = ''): string {
  return /^[a-z]+(?:[ ,;:]|$)/.test(text) ? `${text.charAt(0).toUpperCase()}${text.slice(1)}` : text;
}
