import { formOfOthers, formsOf, hasFields, type JsonSchema } from './json-schema.ts';

/**
 * Returns the paths of the value's fields that the schema does not name; an object without named
 * fields may hold anything.
 */
export function unknownFields(document: JsonSchema, schema: JsonSchema, value: unknown, path = ''): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  const forms = formsOf(document, schema).filter((form) => fits(form, value));
  if (Array.isArray(value)) {
    const item = forms.find(({ type }) => type === 'array')?.items;
    return typeof item === 'object' ? value.flatMap((each) => unknownFields(document, item, each, `${path}[]`)) : [];
  }
  if (!forms.some((form) => hasFields(form) || formOfOthers(form))) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const field = forms.flatMap((form) => form.properties?.[name] ?? formOfOthers(form) ?? [])[0];
    const at = path === '' ? name : `${path}.${name}`;
    return field ? unknownFields(document, field, inner, at) : [at];
  });
}

/** False for a form that another fixed value names. */
const fits = ({ properties = {} }: JsonSchema, value: object): boolean =>
  Object.entries(properties).every(
    ([name, { const: fixed }]) => fixed === undefined || (value as Record<string, unknown>)[name] === fixed,
  );
