import type { Json } from '#base/json.ts';
import { type GraphSpec, graphSpecsUpTo } from '#triton/config/cuda-graphs.ts';
import type { InstanceGroup, ModelConfig } from '#triton/config/model-config.ts';
import type { FieldWrite } from '../types.ts';
import { sizesKept, sizesUpTo } from './batch-sizes.ts';
import { type GroupsPlan, planGroups } from './instance-groups.ts';
import { warmUpKept, warmUpTo } from './warm-up.ts';
import { writeField } from './write-field.ts';

type ModelConfigDraft = { [field: string]: Json | undefined };

/**
 * Returns a copy of the base config, which shares what does not change, with these values, whole
 * messages written before the fields inside them, and without those of its own values that conflict
 * with the new ones; or why that cannot be done.
 */
export function applyWrites(
  base: ModelConfig,
  writes: readonly FieldWrite[],
): { readonly config: ModelConfig } | { readonly reason: string } {
  const config: ModelConfigDraft = { ...(base as ModelConfigDraft) };
  const plan = planGroups(
    base,
    writes.map(({ path }) => path),
  );
  keepPlannedGroups(config, plan);
  for (const write of inOrder(writes)) {
    const fitted = write.action === 'fit' ? fittedTo(config, write) : write;
    const reason = 'reason' in fitted ? fitted.reason : writeField(config, fitted);
    if (reason !== undefined) return { reason };
  }
  followFirstGroup(config, plan);
  leaveNoContradiction(config, base, writes);
  return { config: config as ModelConfig };
}

/** Messages before the fields inside them, then the values that follow the largest batch. */
const inOrder = (writes: readonly FieldWrite[]): readonly FieldWrite[] =>
  [...writes].sort((a, b) => Number(a.action === 'fit') - Number(b.action === 'fit') || a.path.length - b.path.length);

function fittedTo(
  draft: ModelConfigDraft,
  { path, value: relative }: FieldWrite & { action: 'fit' },
): FieldWrite | { readonly reason: string } {
  const config = draft as ModelConfig;
  if (relative.kind === 'sizes') {
    return { action: 'set', path, value: sizesUpTo(config.max_batch_size ?? 0, relative.multiplesOf) };
  }
  if (relative.kind === 'graphs') {
    const specs = graphSpecsUpTo(config);
    return specs ? { action: 'set', path, value: specs } : { action: 'remove', path };
  }
  const warmUp = warmUpTo(config, relative);
  return 'reason' in warmUp ? warmUp : { action: 'set', path, value: warmUp.value };
}

function keepPlannedGroups(config: ModelConfigDraft, { kept }: GroupsPlan): void {
  if (!kept) return;
  const groups = (config.instance_group ?? []) as readonly Json[];
  config.instance_group = groups.slice(0, kept);
}

function followFirstGroup(config: ModelConfigDraft, { followers }: GroupsPlan): void {
  if (followers.length === 0) return;
  const groups = (config as ModelConfig).instance_group ?? [];
  const count = groups[0]?.count ?? 1;
  config.instance_group = groups.map((group, index) => (followers.includes(index) ? { ...group, count } : group));
}

/**
 * Changes the base config's own values that conflict with the new ones, or would make these
 * ineffective.
 */
function leaveNoContradiction(config: ModelConfigDraft, base: ModelConfig, writes: readonly FieldWrite[]): void {
  const sets = (end: string): boolean => writes.some(({ path }) => path[path.length - 1] === end);
  const { dynamic_batching: batching, max_batch_size: largest = 0 } = config as ModelConfig;
  const preferred_batch_size = batching?.preferred_batch_size;
  if (preferred_batch_size !== undefined && largest !== (base.max_batch_size ?? 0) && !sets('preferred_batch_size')) {
    config.dynamic_batching = { ...batching, preferred_batch_size: sizesKept(preferred_batch_size, largest) };
  }
  const warmUp = (config as ModelConfig).model_warmup;
  if (warmUp !== undefined) config.model_warmup = warmUpKept(warmUp as readonly object[], largest) as Json;
  const { optimization } = config as ModelConfig;
  const cuda = optimization?.cuda as { readonly graph_spec?: readonly GraphSpec[] } | undefined;
  if (cuda?.graph_spec !== undefined && !sets('graph_spec')) {
    const kept = cuda.graph_spec.filter(({ batch_size: size = 0 }) => size <= largest);
    config.optimization = { ...optimization, cuda: { ...cuda, graph_spec: kept } };
  }
  if (!sets('kind') || sets('gpus')) return;
  const groups = (config as ModelConfig).instance_group ?? [];
  config.instance_group = groups.map(({ gpus, ...group }: InstanceGroup) =>
    gpus === undefined || group.kind === 'KIND_CPU' || group.kind === 'KIND_MODEL' ? group : { ...group, gpus },
  );
}
