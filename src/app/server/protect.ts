import { isTrituneError, TrituneError } from '#base/errors.ts';
import { listed } from '#base/format.ts';
import type { ProtectSpec } from '#spec/server-spec.ts';
import { composingModels } from '#triton/config/ensemble-rules.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import type { TritonClient } from '#triton/types.ts';

/** Errors: USAGE if a model to be changed is itself protected. */
export function checkNames(models: readonly string[], { protect = [] }: ProtectSpec): void {
  const model = models.find((name) => protect.includes(name));
  if (model !== undefined) throw refused(`'${model}' is protected`);
}

/**
 * Checks that a model can be changed without changing a protected one. Triton loads the parts of an
 * ensemble with it, and loads and unloads an ensemble with its parts. Errors: USAGE if it cannot,
 * or if that cannot be known in advance; MODEL_UNKNOWN for a protected model that does not exist.
 */
export async function checkProtected(client: TritonClient, model: string, spec: ProtectSpec): Promise<void> {
  checkNames([model], spec);
  const { protect = [] } = spec;
  if (protect.length === 0) return;
  const index = await client.index();
  const isReady = (name: string): boolean => index.some((entry) => entry.name === name && entry.state === 'READY');
  for (const name of protect) {
    if (!index.some((entry) => entry.name === name)) throw unknown(name, [...new Set(index.map((each) => each.name))]);
    if (isReady(name) && (await readParts(client, await client.modelConfig(name))).has(model))
      throw refused(`'${name}' is protected, and '${model}' is part of it`);
  }
  if (isReady(model)) return checkParts(client, model, await client.modelConfig(model), spec);
  const unloaded = protect.find((name) => !isReady(name));
  if (unloaded === undefined) return;
  throw refused(`'${unloaded}' is protected and not loaded, and '${model}' may need it`);
}

/**
 * Checks the parts of a model that `checkProtected` has allowed, once its config can be read.
 * Errors: USAGE.
 */
export async function checkParts(
  client: TritonClient,
  model: string,
  config: ModelConfig,
  { protect = [] }: ProtectSpec,
): Promise<void> {
  if (protect.length === 0) return;
  const parts = await readParts(client, config);
  const part = protect.find((name) => parts.has(name));
  if (part !== undefined) throw refused(`'${part}' is protected, and loading the ensemble '${model}' loads it too`);
}

/** Returns the models of an ensemble, including those of nested ones. */
async function readParts(client: TritonClient, config: ModelConfig): Promise<ReadonlySet<string>> {
  const parts = new Set<string>();
  const open = [config];
  for (let next = open.pop(); next; next = open.pop()) {
    for (const name of composingModels(next)) {
      if (parts.has(name)) continue;
      parts.add(name);
      open.push(await readConfig(client, name));
    }
  }
  return parts;
}

/** A part that is not loaded has no readable config. */
async function readConfig(client: TritonClient, model: string): Promise<ModelConfig> {
  try {
    return await client.modelConfig(model);
  } catch (error) {
    if (isTrituneError(error, 'MODEL_UNKNOWN', 'MODEL_UNREADY')) return {};
    throw error;
  }
}

const refused = (why: string): TrituneError =>
  new TrituneError('USAGE', `${why}: nothing was changed`, 'choose another model, or remove that one from --protect');

const unknown = (name: string, known: readonly string[]): TrituneError =>
  new TrituneError('MODEL_UNKNOWN', `the server has no model '${name}' to protect`, `its models are ${listed(known)}`);
