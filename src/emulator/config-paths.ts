import type { Json, JsonObject } from '../base/json.ts';
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
