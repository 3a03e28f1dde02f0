import { slug } from 'github-slugger';
import {
  definitionName,
  definitionOf,
  formOfOthers,
  formsOf,
  hasFields,
  isAnyValue,
  type JsonSchema,
} from './json-schema.ts';

/** A document that a page describes. */
export interface Source {
  readonly document: JsonSchema;
  /** `file`: people write it, so limits and defaults matter. `output`: tritune writes it. */
  readonly kind: 'file' | 'output';
  /** The definitions that other pages describe, each with its link as Markdown. */
  readonly elsewhere: Readonly<Record<string, string>>;
}

/** The type of a field in words, and what these words do not say. */
export interface TypeWords {
  readonly words: string;
  /** The objects with fields that it contains. */
  readonly objects: readonly InnerObject[];
  /** Names of the definitions that the words link to. */
  readonly linked: readonly string[];
}

/**
 * An object in a field: `suffix` leads from the field to it, such as `[]` for the items of a list.
 */
export interface InnerObject {
  readonly suffix: string;
  readonly schema: JsonSchema;
}

/** `isMany`: in the plural. `objectWord`: a link, instead of the word `object`. */
interface Style {
  readonly isMany?: boolean;
  readonly objectWord?: string;
}

/** Returns the type of a schema in words. */
export function typeWords(source: Source, schema: JsonSchema, style: Style = {}): TypeWords {
  const name = definitionName(schema);
  if (name !== undefined) return referenceWords(source, schema, name, style);
  const union = optionsOf(source, schema);
  if (union) return unionWords(union.map((each) => typeWords(source, each, style)));
  if (schema.const !== undefined) return plain(code(schema.const));
  if (schema.enum) return plain(listed(schema.enum.map(code)));
  return simpleWords(source, schema, style);
}

function simpleWords(source: Source, schema: JsonSchema, style: Style): TypeWords {
  const many = (one: string): string => (style.isMany ? `${one}s` : one);
  switch (schema.type) {
    case 'string':
      return plain(many('text'));
    case 'integer':
      return plain(`${many('whole number')}${boundsOf(source, schema)}`);
    case 'number':
      return plain(`${many('number')}${boundsOf(source, schema)}`);
    case 'boolean':
      return plain('true or false');
    case 'null':
      return plain('null');
    case 'array':
      return listWords(source, schema, style);
    case 'object':
      return objectWords(source, schema, style);
    default:
      return plain(many('any value'));
  }
}

function listWords(source: Source, { prefixItems, items, minItems = 0 }: JsonSchema, style: Style): TypeWords {
  if (prefixItems && new Set(prefixItems.map((item) => JSON.stringify(item))).size > 1) {
    const parts = prefixItems.map((item) => typeWords(source, item, { ...style, isMany: false }).words);
    return plain(`${style.isMany ? 'lists' : 'list'} (${parts.join(', ')})`);
  }
  const item = prefixItems?.[0] ?? (typeof items === 'object' ? items : {});
  const count = prefixItems ? `${prefixItems.length} ` : minItems > 1 ? `at least ${minItems} ` : '';
  const each = typeWords(source, item, { ...style, isMany: true });
  return within(each, '[]', `${style.isMany ? 'lists' : 'list'} of ${count}`);
}

function objectWords(source: Source, schema: JsonSchema, style: Style): TypeWords {
  const words = style.objectWord ?? (style.isMany ? 'objects' : 'object');
  if (hasFields(schema)) return { words, objects: [{ suffix: '', schema }], linked: [] };
  const others = formOfOthers(schema);
  if (!others) return plain(style.isMany ? 'objects' : 'object');
  return within(typeWords(source, others, { ...style, isMany: true }), '.NAME', `${style.isMany ? 'maps' : 'map'} of `);
}

const within = (inner: TypeWords, suffix: string, before: string): TypeWords => ({
  words: `${before}${inner.words}`,
  objects: inner.objects.map((each) => ({ ...each, suffix: `${suffix}${each.suffix}` })),
  linked: inner.linked,
});

/** A definition of objects has a section of its own; any other is as clear in place. */
function referenceWords(source: Source, schema: JsonSchema, name: string, style: Style): TypeWords {
  const { document, elsewhere } = source;
  const other = elsewhere[name];
  if (other !== undefined) return plain(other);
  if (isAnyValue(document, schema)) return plain(style.isMany ? 'any values' : 'any value');
  if (!hasSection(document, schema)) return typeWords(source, definitionOf(document, name), style);
  const orNull = formsOf(document, schema).some(({ type }) => type === 'null') ? ' or null' : '';
  return { words: `${linkTo(name)}${orNull}`, objects: [], linked: [name] };
}

const hasSection = (document: JsonSchema, schema: JsonSchema): boolean => formsOf(document, schema).some(hasFields);

/**
 * Returns the forms of a union, with those of unions within it; undefined for a schema of one form.
 */
function optionsOf({ document }: Source, schema: JsonSchema): readonly JsonSchema[] | undefined {
  const { type, ...rest } = schema;
  if (typeof type === 'object') return type.map((each) => ({ ...rest, type: each }));
  const union = schema.anyOf ?? schema.oneOf;
  return union?.flatMap((each) => {
    const isOpen = definitionName(each) === undefined || !(hasSection(document, each) || isAnyValue(document, each));
    return isOpen ? formsOf(document, each) : [each];
  });
}

function unionWords(all: readonly TypeWords[]): TypeWords {
  return {
    words: listed(withSingleValues([...new Set(all.map(({ words }) => words))])),
    objects: all.flatMap(({ objects }) => objects),
    linked: [...new Set(all.flatMap(({ linked }) => linked))],
  };
}

/** Says in two words what is text, a number, or true or false. */
function withSingleValues(all: readonly string[]): readonly string[] {
  for (const [plural, one] of [
    ['', 'single value'],
    ['s', 'single values'],
  ] as const) {
    const parts = [`text${plural}`, `number${plural}`, 'true or false'];
    if (parts.every((part) => all.includes(part))) return [one, ...all.filter((each) => !parts.includes(each))];
  }
  return all;
}

const plain = (words: string): TypeWords => ({ words, objects: [], linked: [] });

/** Returns a link to the section of that heading. */
export const linkTo = (heading: string): string => `[${heading}](#${slug(heading)})`;

/** `a`; `a or b`; `a, b or c`. */
const listed = (all: readonly string[]): string =>
  all.length < 2 ? all.join('') : `${all.slice(0, -1).join(', ')} or ${all.at(-1)}`;

/** Returns the value as code; text stands without quotes. */
export const code = (value: unknown): string => `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;

/** Limits beyond this only keep out nonsense. */
const LARGEST_LIMIT = 1e5;
const stated = (limit: number | undefined): number | undefined =>
  Math.abs(limit ?? 0) > LARGEST_LIMIT ? undefined : limit;

function boundsOf({ kind }: Source, { minimum, exclusiveMinimum, maximum, exclusiveMaximum }: JsonSchema): string {
  if (kind === 'output') return '';
  const least = stated(minimum);
  const most = stated(maximum);
  if (least !== undefined && most !== undefined) return ` from ${least} to ${most}`;
  const ends = [
    ...(exclusiveMinimum === undefined ? [] : [`> ${exclusiveMinimum}`]),
    ...(least === undefined ? [] : [`≥ ${least}`]),
    ...(exclusiveMaximum === undefined ? [] : [`< ${exclusiveMaximum}`]),
    ...(most === undefined ? [] : [`≤ ${most}`]),
  ];
  return ends.length > 0 ? ` ${ends.join(' and ')}` : '';
}

/** Returns the text with a capital letter at its start, unless that is a name. */
export function sentence(text = ''): string {
  return /^[a-z]+(?:[ ,;:]|$)/.test(text) ? `${text.charAt(0).toUpperCase()}${text.slice(1)}` : text;
}
