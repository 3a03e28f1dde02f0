import { isJsonObject } from '#base/json.ts';

/** The key that changes an object's prototype in code that copies fields one by one. */
const KEY = '__proto__';
/** The fields of records that hold a candidate. */
const CANDIDATES = ['candidate', 'original'];

/**
 * Returns a line of a journal without the keys that could reach a prototype. They stay in the value
 * of a candidate, as its own fields: a model, and the names in its config, may have any name.
 * `JSON.parse`, `Object.fromEntries` and spreading make such fields (ECMA-262, CreateDataProperty);
 * an assignment would not. `line`: shallow enough for a recursive function.
 */
export function withoutPrototypeKeys(line: unknown): unknown {
  const left = withoutPrototype(line);
  if (!isJsonObject(line) || !isJsonObject(left)) return left;
  const candidates = CANDIDATES.flatMap((field) => {
    const [value, kept] = [line[field], left[field]];
    return isJsonObject(value) && isJsonObject(kept) && kept.value !== undefined
      ? [[field, { ...kept, value: value.value }]]
      : [];
  });
  return { ...left, ...Object.fromEntries(candidates) };
}

function withoutPrototype(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPrototype);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).filter(([key]) => key !== KEY);
  return Object.fromEntries(entries.map(([key, inner]) => [key, withoutPrototype(inner)]));
}
