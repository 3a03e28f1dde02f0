import type { InstanceGroup, ModelConfig } from '#triton/config/model-config.ts';
import type { ConfigPath } from '../types.ts';

/** What becomes of the instance groups of a base config when a space sets some of their fields. */
export interface GroupsPlan {
  /** The number of groups that a candidate has; null for all. */
  readonly kept: number | null;
  /** Indexes of the groups whose count is always that of the first. */
  readonly followers: readonly number[];
}

/**
 * Plans the instance groups of candidates. A space that sets where the instances of a group run, or
 * a group that the base lacks, means exactly the groups up to the last one that it sets. One that
 * sets counts alone keeps all groups: those of the first one's kind and count follow it, such as
 * one group on each GPU, and the others stay as they are.
 */
export function planGroups({ instance_group: groups = [] }: ModelConfig, paths: readonly ConfigPath[]): GroupsPlan {
  const set = paths.flatMap(([field, index, name]) =>
    field === 'instance_group' && typeof index === 'number' ? [{ index, name }] : [],
  );
  const indexes = new Set(set.map(({ index }) => index));
  const last = Math.max(-1, ...indexes);
  const isPlacing = set.some(({ name }) => name !== 'count') || last >= groups.length;
  if (isPlacing) return { kept: last + 1, followers: [] };
  const [first] = groups;
  const isLikeFirst = ({ kind, count = 1 }: InstanceGroup): boolean =>
    first !== undefined && kind === first.kind && count === (first.count ?? 1);
  const followers = groups.flatMap((group, index) => (!indexes.has(index) && isLikeFirst(group) ? [index] : []));
  return { kept: null, followers: indexes.has(0) ? followers : [] };
}
