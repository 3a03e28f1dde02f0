import { canonicalJson, type Json, type JsonObject } from '#base/json.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';

/** Returns the values at a dotted path of field names; for a list, those of all its elements. */
export function valuesAt(config: ModelConfig, path: string): readonly Json[] {
  let jsons: readonly Json[] = [config as JsonObject];
  for (const name of path.split('.')) {
    jsons = jsons.flatMap((value) => {
      if (value === null || typeof value !== 'object' || Array.isArray(value)) return [];
      const next = (value as JsonObject)[name];
      if (next === undefined) return [];
      return Array.isArray(next) ? (next as Json[]) : [next];
    });
  }
  return jsons;
}

/**
 * Returns the config with this value at a dotted path of field names, in every element of a list;
 * creates missing parts of the path.
 */
export function withValueAt(config: ModelConfig, path: string, value: Json): ModelConfig {
  return changedAt(config as JsonObject, path.split('.'), value) as ModelConfig;
}

function changedAt(at: Json | undefined, [name, ...rest]: readonly string[], value: Json): Json {
  if (name === undefined) return value;
  if (Array.isArray(at)) return at.map((item: Json) => changedAt(item, [name, ...rest], value));
  const object = at !== null && typeof at === 'object' ? (at as JsonObject) : {};
  const next = Object.hasOwn(object, name) ? object[name] : undefined;
  return { ...object, [name]: changedAt(next, rest, value) };
}

/**
 * True if each of these paths has its value in the config, or no value for null: the meaning of
 * `when` in a profile.
 */
export function configMeets(config: ModelConfig, when: { readonly [path: string]: Json }): boolean {
  return Object.entries(when).every(([path, json]) => {
    const values = valuesAt(config, path);
    return json === null ? values.length === 0 : values.some((value) => canonicalJson(value) === canonicalJson(json));
  });
}
