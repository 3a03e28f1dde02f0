import { canonicalJson, type Json } from '#base/json.ts';
import type { DynamicBatching, InstanceGroup, ModelConfig } from '#triton/config/model-config.ts';
import { normaliseConfig } from '#triton/config/normal-form.ts';

/**
 * Returns the config without the server's own defaults at a load: proto3 defaults, instance groups'
 * names MODEL_0, MODEL_1, …, and the preferred batch size [max_batch_size]. Two configs that are
 * the same to the server are equal in this form. Errors: CONFIG_INVALID for a value that its field
 * cannot hold.
 */
export function withoutServerDefaults(config: ModelConfig): ModelConfig {
  const { instance_group: groups, dynamic_batching: batching, ...rest } = normaliseConfig(config);
  return {
    ...rest,
    ...(groups === undefined ? {} : { instance_group: groups.map((group, index) => unnamed(group, index, rest.name)) }),
    ...(batching === undefined ? {} : { dynamic_batching: withoutDefaultSize(batching, rest.max_batch_size) }),
  };
}

function unnamed(group: InstanceGroup, index: number, model: string | undefined): InstanceGroup {
  const { name, ...rest } = group;
  return name === undefined || name === `${model}_${index}` ? rest : group;
}

function withoutDefaultSize(batching: DynamicBatching, maxBatchSize: number | undefined): DynamicBatching {
  const { preferred_batch_size: preferred, ...rest } = batching;
  if (preferred === undefined || canonicalJson(preferred as Json) === canonicalJson([maxBatchSize ?? 0])) return rest;
  return batching;
}
