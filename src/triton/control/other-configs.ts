import { asTrituneError, isTrituneError, type TrituneError } from '#base/errors.ts';
import type { ModelConfig } from '../config/model-config.ts';
import type { TritonClient } from '../types.ts';

/**
 * Configs of models that are served beside the one that a run is about. What is wrong with one of
 * them must not end the run.
 */
export interface OtherConfigs {
  readonly configs: { readonly [model: string]: ModelConfig };
  /**
   * Models with a config that cannot be read, and why. A model that is no longer loaded is in
   * neither.
   */
  readonly unreadable: ReadonlyMap<string, TrituneError>;
  /**
   * Models whose config was not asked for, because there are too many or the server takes too long.
   */
  readonly unread: readonly string[];
}

/** A server of more models is read in part. */
const MAX_MODELS = 1024;
const AT_ONCE = 16;
/** For one config; a server sends it from memory. */
const CONFIG_TIMEOUT_MS = 2_000;
/** For all of them. */
const TIMEOUT_MS = 10_000;

/**
 * Reads the configs of other models: of so many, and for so long, as a run can wait. Errors:
 * INTERRUPTED.
 */
export async function readOtherConfigs(
  client: Pick<TritonClient, 'modelConfig'>,
  models: Iterable<string>,
  signal?: AbortSignal,
): Promise<OtherConfigs> {
  const configs: [string, ModelConfig][] = [];
  const unreadable = new Map<string, TrituneError>();
  const open = [...new Set(models)];
  const unread = open.splice(MAX_MODELS);
  const deadline = AbortSignal.timeout(TIMEOUT_MS);
  const call = { timeoutMs: CONFIG_TIMEOUT_MS, signal: signal ? AbortSignal.any([deadline, signal]) : deadline };
  const read = async (model: string): Promise<void> => {
    try {
      configs.push([model, await client.modelConfig(model, call)]);
    } catch (error) {
      signal?.throwIfAborted();
      if (deadline.aborted) unread.push(model);
      else if (!isTrituneError(error, 'MODEL_UNKNOWN', 'MODEL_UNREADY')) unreadable.set(model, asTrituneError(error));
    }
  };
  const readAll = async (): Promise<void> => {
    for (let model = open.shift(); model !== undefined; model = open.shift()) {
      if (deadline.aborted) unread.push(model);
      else await read(model);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, readAll));
  return { configs: Object.fromEntries(configs), unreadable, unread };
}
