import type { ModelConfig } from '#triton/config/model-config.ts';

/**
 * Returns the config with the values that Triton fills in before it compares or shows one: the
 * version policy, an instance group, the preferred batch size of a dynamic batcher, pinned memory.
 */
export function withTritonDefaults(config: ModelConfig, model: string): ModelConfig {
  const version_policy = config.version_policy ?? { latest: { num_versions: 1 } };
  // An ensemble has no instances and nothing to pin.
  if (config.ensemble_scheduling) return { ...config, name: model, platform: 'ensemble', version_policy };
  const max = config.max_batch_size ?? 0;
  const batching = config.dynamic_batching;
  const preferred = batching?.preferred_batch_size?.length || max === 0 ? undefined : [max];
  const pinned = { input_pinned_memory: { enable: true }, output_pinned_memory: { enable: true } };
  return {
    ...config,
    name: model,
    version_policy,
    optimization: { ...pinned, ...config.optimization },
    instance_group: (config.instance_group ?? [{}]).map((group, index) => ({
      ...group,
      name: group.name || `${model}_${index}`,
      count: Math.max(1, group.count ?? 1),
    })),
    ...(batching && { dynamic_batching: { ...batching, ...(preferred && { preferred_batch_size: preferred }) } }),
  };
}
