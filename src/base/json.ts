/** A JSON value. An undefined field is an absent one. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key: string]: Json | undefined };

/**
 * Returns the value as JSON with object keys sorted, so that equal values print alike. Used for
 * fingerprints and for comparing configs.
 */
export function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (value !== null && typeof value === 'object') {
    const object = value as JsonObject;
    const fields = Object.keys(object)
      .filter((key) => object[key] !== undefined)
      .sort()
      .map((key) => `${JSON.stringify(key)}:${canonicalJson(object[key] as Json)}`);
    return `{${fields.join(',')}}`;
  }
  return JSON.stringify(value);
}

const texts = new WeakMap<object, string>();

/**
 * The same for an object whose lists and objects are shared with others that differ in a few
 * fields, and are never changed in place: the text of each is made once.
 */
export function canonicalJsonOfShared(object: JsonObject): string {
  const formatText = (value: Json): string => {
    if (value === null || typeof value !== 'object') return canonicalJson(value);
    const text = texts.get(value) ?? canonicalJson(value);
    texts.set(value, text);
    return text;
  };
  const fields = Object.keys(object)
    .filter((key) => object[key] !== undefined)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${formatText(object[key] as Json)}`);
  return `{${fields.join(',')}}`;
}

/** True for an object that JSON writes in braces. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * True for a value with more than this many levels of nested lists and objects, and for one that
 * contains itself. Code that walks through values recurses once per level, and would overflow the
 * stack.
 */
export function nestsDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => nestsDeeperThan(levels - 1, inner));
}
