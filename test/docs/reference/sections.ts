import type { JsonSchema } from './json-schema.ts';
import { firstParts, type Part, type SchemaDocument, type Shared, sharedWith, without } from './parts.ts';
import { addDefinitions, type Finder, type Row, rowsOf } from './rows.ts';
import { code, typeWords } from './type-words.ts';

/** One object of the document, with a table of its fields for each of its forms. */
export interface Section {
  readonly heading: string;
  readonly intro: string;
  /** Fields that an earlier section describes; null for none. */
  readonly shared: Shared | null;
  readonly tables: readonly Table[];
}

/** The fields of one form of an object. */
export interface Table {
  /** What distinguishes this form from the others; '' for an object with a single one. */
  readonly caption: string;
  readonly rows: readonly Row[];
}

/**
 * Returns the sections of a document: those of its roots first, then the objects that their fields
 * refer to, in order. Errors: two objects with one heading.
 */
export function sectionsOf(of: SchemaDocument): readonly Section[] {
  const parts = [...firstParts(of)];
  const add = (part: Part): void => {
    const known = parts.find(({ heading }) => heading === part.heading);
    if (known && known.schema !== part.schema) throw new Error(`two objects are called '${part.heading}'`);
    if (!known) parts.push(part);
  };
  const sections: Section[] = [];
  // The list grows while it is read.
  for (const part of parts) {
    const headingOf = (name: string): string => `${part.isFirst ? '' : `${part.heading}.`}${name}`;
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

/**
 * Returns the field that tells one form of an object from the others; undefined if their fields do.
 */
const fixedField = ({ properties = {} }: JsonSchema): FixedField | undefined =>
  Object.entries(properties).find(([, { const: value, enum: values }]) => value !== undefined || values !== undefined);

/** `kind: constant`, and what that means. */
function captionOf([name, { const: value, enum: values = [value], description = '' }]: FixedField): string {
  const names = values.map((each) => code(`${name}: ${each}`)).join(', ');
  return [names, lowerFirst(description)].filter((each) => each !== '').join(': ');
}

const lowerFirst = (text: string): string => `${text.charAt(0).toLowerCase()}${text.slice(1)}`;
