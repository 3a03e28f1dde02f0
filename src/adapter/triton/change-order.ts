import { compareConfigs, onlyInstancesDiffer } from '#triton/config/comparison.ts';
import { ensembleMisfit } from '#triton/config/ensemble-fit.ts';
import { countInstances } from '#triton/config/instances.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import type { ControlledModel } from './controlled-model.ts';

/** A model and its intended config. */
export type IntendedConfig = readonly [model: ControlledModel, config: ModelConfig];

/**
 * Returns the targets in the best loading order: in-place changes before full loads, and targets
 * that release instances before those that take more.
 */
export const inChangeOrder = (targets: readonly IntendedConfig[]): readonly IntendedConfig[] =>
  targets
    .map((target) => ({ target, rank: toRank(target) }))
    .sort((a, b) => a.rank.kind - b.rank.kind || a.rank.instances - b.rank.instances)
    .map(({ target }) => target);

function toRank([{ sent }, config]: IntendedConfig): { readonly kind: number; readonly instances: number } {
  const instances = countInstances(config) - countInstances(sent);
  if (onlyInstancesDiffer(sent, config)) return { kind: compareConfigs(sent, config).length === 0 ? 0 : 1, instances };
  return { kind: 2, instances };
}

/**
 * Returns why an ensemble could not be served with these members, in Triton's words: it would be
 * removed at once, although the load of the member succeeds. null if all can, or if the original
 * configs have the same fault.
 */
export function findMisfit(members: readonly IntendedConfig[], ensembles: readonly IntendedConfig[]): string | null {
  for (const [model, config] of ensembles) {
    const misfit = ensembleMisfit(config, configIn([...members, ...ensembles]));
    if (misfit === null) continue;
    const originals = [...members, ...ensembles].map(([each]): IntendedConfig => [each, each.original.config]);
    if (misfit !== ensembleMisfit(model.original.config, configIn(originals))) return misfit;
  }
  return null;
}

const configIn =
  (targets: readonly IntendedConfig[]) =>
  (name: string): ModelConfig | undefined =>
    targets.find(([model]) => model.name === name)?.[1];

/**
 * Returns the ensembles that get a smaller largest batch, outer ones first: they must have it
 * before their models do.
 */
export const lowered = (ensembles: readonly IntendedConfig[]): readonly IntendedConfig[] =>
  ensembles.filter(([{ sent }, config]) => (config.max_batch_size ?? 0) < (sent.max_batch_size ?? 0)).toReversed();
