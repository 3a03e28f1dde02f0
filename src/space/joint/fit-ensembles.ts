import { lookUp } from '#base/look-up.ts';
import { composingModels } from '#triton/config/ensemble-rules.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import type { ModelConfigs } from '../model-configs.ts';

/**
 * Returns the ensembles that cannot be served unchanged over models with these configs, with a
 * `max_batch_size` that can: Triton (2.51) serves an ensemble only if every batching model in it
 * accepts batches at least as large. None is raised above its own.
 */
export function fitEnsembles(ensembles: ModelConfigs, models: ModelConfigs): ModelConfigs {
  const known = new Map<string, number>();
  const findMax = (name: string): number => {
    const foundEnsemble = known.get(name);
    if (foundEnsemble !== undefined) return foundEnsemble;
    const ensemble = findConfig(ensembles, name);
    if (!ensemble) return findBatch(findConfig(models, name));
    // A repository has no ensemble that contains itself; a server would not have loaded it.
    known.set(name, findBatch(ensemble));
    const inside = composingModels(ensemble)
      .map(findMax)
      .filter((most) => most > 0);
    const most = Math.min(findBatch(ensemble), ...inside);
    known.set(name, most);
    return most;
  };
  const lowered = Object.entries(ensembles).filter(([name, config]) => findMax(name) < findBatch(config));
  return Object.fromEntries(lowered.map(([name, config]) => [name, { ...config, max_batch_size: findMax(name) }]));
}

/** Returns the largest batch of a model; 0 for none, or if unknown. */
export const findBatch = (config: ModelConfig | undefined): number => config?.max_batch_size ?? 0;

const findConfig = (configs: ModelConfigs, name: string): ModelConfig | undefined => lookUp(configs, name);
