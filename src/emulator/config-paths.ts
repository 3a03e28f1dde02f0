import { canonicalJson, type Json, type JsonObject } from '../base/json.ts';
import type { ModelConfig } from '../triton/model-config.ts';

/** The values at a dotted path of field names; a list gives every value that any of its elements has there. */
export function valuesAt(config: ModelConfig, path: string): readonly Json[] {
  let found: readonly Json[] = [config as JsonObject];
  for (const name of path.split('.')) {
    found = found.flatMap((value) => {
      if (value === null || typeof value !== 'object' || Array.isArray(value)) return [];
      const next = (value as JsonObject)[name];
      if (next === undefined) return [];
      return Array.isArray(next) ? (next as Json[]) : [next];
    });
  }
  return found;
}

/** Whether each of these paths has its value in the config, or none where the value is null: what `when` means in a profile. */
export function configMeets(config: ModelConfig, when: { readonly [path: string]: Json }): boolean {
  return Object.entries(when).every(([path, wanted]) => {
    const values = valuesAt(config, path);
    return wanted === null
      ? values.length === 0
      : values.some((value) => canonicalJson(value) === canonicalJson(wanted));
  });
}
