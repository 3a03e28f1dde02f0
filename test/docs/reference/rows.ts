import { definitionName, definitionOf, formOfOthers, type JsonSchema } from './json-schema.ts';
import { MAX_FIELDS_IN_PLACE, type Part, type SchemaDocument } from './parts.ts';
import { code, linkTo, sentence, type TypeWords, typeWords } from './type-words.ts';
import { unitOf } from './unit-of.ts';

/** A field of an object. */
export interface Row {
  readonly field: string;
  readonly type: string;
  readonly isRequired: boolean;
  /** As code; '' without one. */
  readonly defaultValue: string;
  /** A sentence without its full stop; '' if the schema has no description. */
  readonly meaning: string;
}

/** How a table tells others of the objects that it finds. */
export interface Finder {
  add(part: Part): void;
  /** Returns the heading of the object in that field. */
  headingOf(field: string): string;
}

/**
 * Returns the fields of an object, and of the small objects in them. `prefix`: the path from the
 * table's object.
 */
export function rowsOf(of: SchemaDocument, object: JsonSchema, prefix: string, finder: Finder): readonly Row[] {
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
  const isSmall = told.objects.every(({ schema: object }) => countFields(of, object) <= MAX_FIELDS_IN_PLACE);
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

/** Gives the definitions sections of their own. */
export function addDefinitions(of: SchemaDocument, names: readonly string[], { add }: Finder): void {
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
