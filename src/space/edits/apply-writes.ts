import type { Json } from '../../base/json.ts';
import type { InstanceGroup, ModelConfig } from '../../triton/config/model-config.ts';
import type { FieldWrite } from '../types.ts';
import { sizesKept, sizesUpTo } from './batch-sizes.ts';
import { writeField } from './write-field.ts';

type ModelConfigDraft = { [field: string]: Json | undefined };

/**
 * The base config with these values written into a copy, whole messages before the fields inside them, and without those of
 * its own values that cannot stay beside the new ones; or why that cannot be done.
 */
export function applyWrites(
  base: ModelConfig,
  writes: readonly FieldWrite[],
): { readonly config: ModelConfig } | { readonly reason: string } {
  const config = structuredClone(base) as ModelConfigDraft;
  keepAddressedGroups(config, writes);
  for (const write of [...writes].sort((a, b) => a.path.length - b.path.length)) {
    const reason = writeField(config, write.action === 'fit' ? fitted(write, config) : write);
    if (reason !== undefined) return { reason };
  }
  leaveNoContradiction(config, base, writes);
  return { config: config as ModelConfig };
}

/** `max_batch_size` is written before any field of the batcher, because its path is shorter. */
const fitted = ({ path, sizes }: FieldWrite & { action: 'fit' }, config: ModelConfigDraft): FieldWrite => ({
  action: 'set',
  path,
  value: sizesUpTo((config as ModelConfig).max_batch_size ?? 0, sizes),
});

/** A space that sets instance groups up to some index means these groups, not others besides. */
function keepAddressedGroups(config: ModelConfigDraft, writes: readonly FieldWrite[]): void {
  const indexes = writes.flatMap(({ path }) =>
    path[0] === 'instance_group' && typeof path[1] === 'number' ? [path[1]] : [],
  );
  if (indexes.length === 0) return;
  const groups = (config.instance_group ?? []) as readonly Json[];
  config.instance_group = groups.slice(0, Math.max(...indexes) + 1);
}

/** Changes the base config's own values where they cannot stay beside the new ones, or would keep these from counting. */
function leaveNoContradiction(config: ModelConfigDraft, base: ModelConfig, writes: readonly FieldWrite[]): void {
  const sets = (end: string): boolean => writes.some(({ path }) => path[path.length - 1] === end);
  const { dynamic_batching: batching, max_batch_size: largest = 0 } = config as ModelConfig;
  const own = batching?.preferred_batch_size;
  if (own !== undefined && largest !== (base.max_batch_size ?? 0) && !sets('preferred_batch_size')) {
    config.dynamic_batching = { ...batching, preferred_batch_size: sizesKept(own, largest) };
  }
  if (!sets('kind') || sets('gpus')) return;
  const groups = (config as ModelConfig).instance_group ?? [];
  config.instance_group = groups.map(({ gpus, ...group }: InstanceGroup) =>
    gpus === undefined || group.kind === 'KIND_CPU' || group.kind === 'KIND_MODEL' ? group : { ...group, gpus },
  );
}
