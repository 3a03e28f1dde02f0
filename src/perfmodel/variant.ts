import { canonicalJson } from '../base/json.ts';
import type { ModelConfig } from '../triton/model-config.ts';

/** What decides the service law: the config but for the number of instances and the batcher. */
export function variantOf(config: ModelConfig): string {
  const { max_batch_size: _, dynamic_batching: __, instance_group: groups = [], ...rest } = config;
  const places = groups.map(({ count: _count, name: _name, ...place }) => place);
  return canonicalJson({ ...rest, instance_group: places });
}
