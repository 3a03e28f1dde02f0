import { isJsonObject, type Json, type JsonObject } from '#base/json.ts';
import { lookUp } from '#base/look-up.ts';
import { workloadJsonSchema } from './workload-schema.ts';

/** The schema's rules for one place of a file. */
export interface FormAt {
  /** Allowed names; empty if the writer chooses them, or if it is not a map. */
  readonly keys: readonly string[];
  readonly description: string | null;
}

/** Made once: it takes longer than all else that is done for a fault. */
let made: JsonObject | undefined;

/**
 * Follows a path through the schema, and through the value where it decides between several forms.
 */
export function formAt(value: unknown, path: readonly PropertyKey[]): FormAt {
  made ??= workloadJsonSchema();
  const document = made;
  let forms: readonly JsonObject[] = chosen([document], value);
  let description: string | null = null;
  let inner = value;
  for (const segment of path) {
    inner = typeof inner === 'object' && inner !== null ? (inner as Record<PropertyKey, unknown>)[segment] : undefined;
    const below = forms
      .map((form) => findChild(form, segment))
      .filter((form) => form !== null)
      .map((form) => resolved(form, document));
    description = below.map((form) => form.description).find((text) => typeof text === 'string') ?? null;
    forms = chosen(below, inner);
  }
  const keys = forms.flatMap(({ properties }) => (isJsonObject(properties) ? Object.keys(properties) : []));
  return { keys: [...new Set(keys)], description };
}

function findChild({ properties, additionalProperties, items }: JsonObject, segment: PropertyKey): JsonObject | null {
  const named = isJsonObject(properties) ? lookUp(properties, String(segment)) : undefined;
  const child = typeof segment === 'number' ? items : (named ?? additionalProperties);
  return isJsonObject(child) ? child : null;
}

/**
 * Returns the definition that the form refers to, with the form's own description if it has one;
 * any other form as it is.
 */
function resolved({ $ref, ...rest }: JsonObject, { $defs }: JsonObject): JsonObject {
  const name = typeof $ref === 'string' ? $ref.replace('#/$defs/', '') : '';
  const definition = isJsonObject($defs) ? lookUp($defs, name) : undefined;
  return isJsonObject(definition) ? { ...definition, ...rest } : rest;
}

/** The forms that a value may have; of those that say their process the one that it names. */
function chosen(forms: readonly JsonObject[], value: unknown): readonly JsonObject[] {
  const options = forms.flatMap((form) => {
    const listed = form.anyOf ?? form.oneOf;
    return Array.isArray(listed) ? (listed as readonly Json[]).filter(isJsonObject) : [form];
  });
  const process = isJsonObject(value) ? value.process : undefined;
  const named = options.filter(
    ({ properties }) =>
      isJsonObject(properties) && isJsonObject(properties.process) && properties.process.const === process,
  );
  return process !== undefined && named.length > 0 ? named : options;
}
