import { isTrituneError, type TrituneError } from '../../base/errors.ts';
import type { ModelConfig } from '../config/model-config.ts';
import type { TritonClient } from '../types.ts';

/** Configs of models that are served beside the one that a run is about. What is wrong with one of them must not end the run. */
export interface OtherConfigs {
  readonly configs: { readonly [model: string]: ModelConfig };
  /** Models with a config that cannot be read, and why. A model that is no longer loaded is in neither. */
  readonly unreadable: ReadonlyMap<string, TrituneError>;
}

/** Reads the configs of other models. Errors: those of the server as a whole, SERVER_UNREACHABLE and SERVER_TIMEOUT. */
export async function readOtherConfigs(
  client: Pick<TritonClient, 'modelConfig'>,
  models: Iterable<string>,
): Promise<OtherConfigs> {
  const configs: [string, ModelConfig][] = [];
  const unreadable = new Map<string, TrituneError>();
  const read = async (model: string): Promise<void> => {
    try {
      configs.push([model, await client.modelConfig(model)]);
    } catch (error) {
      if (isTrituneError(error, 'CONFIG_INVALID', 'UNSUPPORTED', 'SERVER_FAILED')) unreadable.set(model, error);
      else if (!isTrituneError(error, 'MODEL_UNKNOWN', 'MODEL_UNREADY')) throw error;
    }
  };
  await Promise.all([...new Set(models)].map(read));
  return { configs: Object.fromEntries(configs), unreadable };
}
