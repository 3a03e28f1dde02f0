import type { Json, JsonObject } from '../base/json.ts';
import type { ModelConfig } from '../triton/model-config.ts';

/**
 * The config with what Triton fills in before it compares or shows one: the version policy, an instance group, the
 * preferred batch size of a dynamic batcher, pinned memory.
 */
export function withTritonDefaults(config: ModelConfig, model: string): ModelConfig {
  const max = config.max_batch_size ?? 0;
  const batching = config.dynamic_batching;
  const preferred = batching?.preferred_batch_size?.length || max === 0 ? undefined : [max];
  const pinned = { input_pinned_memory: { enable: true }, output_pinned_memory: { enable: true } };
  return {
    ...config,
    name: model,
    version_policy: config.version_policy ?? { latest: { num_versions: 1 } },
    optimization: { ...pinned, ...config.optimization },
    instance_group: (config.instance_group ?? [{}]).map((group, index) => ({
      ...group,
      name: group.name || `${model}_${index}`,
      count: Math.max(1, group.count ?? 1),
    })),
    ...(batching && { dynamic_batching: { ...batching, ...(preferred && { preferred_batch_size: preferred }) } }),
  };
}

/** The value at a dotted path of field names; a list gives every value that any of its elements has there. */
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
