import { isJsonObject, type Json } from '#base/json.ts';
import type { Arm } from '#emulator/profile/schema.ts';
import { compareConfigs } from '#triton/config/comparison.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';

/** Fields that a profile's laws and limits cover already. */
const COMMON = /^(max_batch_size|dynamic_batching\b.*|instance_group(\[\d+\](\.(count|name))?)?)$/;

/**
 * Returns the differences between a config and the original, except in instances and batching, as
 * an arm's conditions. null without any, and if an arm cannot express one: a key with other than
 * word characters, or a list of several values.
 */
export function findConditions(original: ModelConfig, config: ModelConfig): Arm['when'] | null {
  const differences = compareConfigs(original, config).filter(({ path }) => !COMMON.test(path));
  const leaves = differences.flatMap(({ path, before, after }) =>
    after === undefined
      ? listLeaves(path, before ?? null).map(([gone]) => [gone, null] as const)
      : listLeaves(path, after),
  );
  const entries = leaves.map(([path, value]) => [path.replace(/\[\d+\]/g, ''), value] as const);
  const isNamed = entries.every(([path, value]) => /^[\w.]+$/.test(path) && !Array.isArray(value));
  return entries.length > 0 && isNamed ? Object.fromEntries(entries) : null;
}

/**
 * Returns the single values below a path. Servers add fields of their own, so whole messages never
 * compare equal.
 */
function listLeaves(path: string, value: Json): (readonly [string, Json])[] {
  if (Array.isArray(value) && value.length === 1) return listLeaves(path, value[0] as Json);
  if (!isJsonObject(value)) return [[path, value]];
  return Object.entries(value).flatMap(([name, below]) => {
    return below === undefined ? [] : listLeaves(`${path}${/^\w+$/.test(name) ? `.${name}` : `["${name}"]`}`, below);
  });
}
