import { canonicalJson, isJsonObject, type Json, type JsonObject } from '#base/json.ts';
import { lookUp } from '#base/look-up.ts';
import type { ModelConfig } from './model-config.ts';
import { normaliseConfig } from './normal-form.ts';

export interface ConfigDifference {
  /** Such as `dynamic_batching.max_queue_delay_microseconds` or `instance_group[0].count`. */
  readonly path: string;
  /** Absent if only the other config has the field. */
  readonly before?: Json;
  readonly after?: Json;
}

/**
 * Returns the differences between two configs in normal form, by path in alphabetical order. A
 * message that only one has, or a list of numbers or names, is one difference as a whole; lists of
 * messages are compared item by item. In a read-back check, a difference without `before` was
 * filled in by the server.
 */
export function compareConfigs(before: ModelConfig, after: ModelConfig): readonly ConfigDifference[] {
  return differences('', normaliseConfig(before), normaliseConfig(after));
}

/**
 * True if at most `instance_group` differs: Triton then loads in place, without a reload, and keeps
 * its statistics. This holds between two consecutive sent configs, not between a sent one and its
 * read-back.
 */
export function onlyInstancesDiffer(before: ModelConfig, after: ModelConfig): boolean {
  return besideInstances(normaliseConfig(before)) === besideInstances(normaliseConfig(after));
}

/**
 * Returns the part that must stay the same for Triton to load in place, as a text that is equal for
 * configs in normal form that agree in it.
 */
export function besideInstances({ instance_group: _, ...rest }: ModelConfig): string {
  return canonicalJson(rest);
}

function differences(path: string, before: Json | undefined, after: Json | undefined): ConfigDifference[] {
  if (isJsonObject(before) && isJsonObject(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
    return names.flatMap((name) =>
      differences(memberPath(path, name), readField(before, name), readField(after, name)),
    );
  }
  if (isListOfObjects(before) && isListOfObjects(after)) {
    const length = Math.max(before.length, after.length);
    return Array.from({ length }, (_, i) => differences(`${path}[${i}]`, before[i], after[i])).flat();
  }
  if (before === undefined && after === undefined) return [];
  if (before === undefined) return [{ path, after: after as Json }];
  if (after === undefined) return [{ path, before }];
  return canonicalJson(before) === canonicalJson(after) ? [] : [{ path, before, after }];
}

function memberPath(path: string, name: string): string {
  if (!/^\w+$/.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path ? `${path}.${name}` : name;
}

const readField = (object: JsonObject, name: string): Json | undefined => lookUp(object, name);

const isListOfObjects = (value: Json | undefined): value is readonly JsonObject[] =>
  Array.isArray(value) && value.every((item) => isJsonObject(item as Json));
