import type { ModelConfig } from './model-config.ts';

/**
 * Returns how many instances the config starts; `count` is per listed GPU, and a config without
 * groups has one instance.
 */
export function countInstances(config: ModelConfig): number {
  const groups = config.instance_group ?? [];
  if (groups.length === 0) return 1;
  return groups.reduce((sum, group) => sum + Math.max(1, group.count ?? 1) * Math.max(1, group.gpus?.length ?? 1), 0);
}
