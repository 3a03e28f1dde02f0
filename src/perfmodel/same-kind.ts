import { canonicalJson, type Json } from '../base/json.ts';
import type { InstanceGroup, ModelConfig } from '../triton/model-config.ts';

export const batchOf = (config: ModelConfig): number => config.max_batch_size ?? 0;

/** Alike in all that decides what one instance needs; how requests are queued is no part of it. */
export function sameKind(a: ModelConfig, b: ModelConfig): boolean {
  return kindOf(a) === kindOf(b);
}

/** Each config is looked at once: a search compares the same ones again and again. */
const kinds = new WeakMap<ModelConfig, string>();

function kindOf(config: ModelConfig): string {
  const known = kinds.get(config) ?? `${placesOf(config)} ${restOf(config)}`;
  kinds.set(config, known);
  return known;
}

function restOf(config: ModelConfig): string {
  const { instance_group: _, max_batch_size: _batch, dynamic_batching: _queue, ...rest } = config;
  return canonicalJson(rest);
}

/** Where the instances go, without how many there are. */
export function placesOf(config: ModelConfig): string {
  const groups: readonly InstanceGroup[] = config.instance_group ?? [];
  const places = groups.map(({ count: _, name: _name, ...place }) => canonicalJson(place as { [key: string]: Json }));
  return [...new Set(places)].sort().join(' ');
}
