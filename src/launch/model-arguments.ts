import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileLimits, readText } from '#base/read-file.ts';
import { composingModels } from '#triton/config/ensemble-rules.ts';
import { parseConfigText } from '#triton/config/parser.ts';
import type { LaunchOptions } from './types.ts';

/** A model version is a directory whose name is a number. */
const VERSION = /^[0-9]+$/;
const PYTHON_FILE = 'model.py';
/** A Python backend class that inherits nothing, so that its file defines all of it. */
const OWN_CLASS = /^class\s+TritonPythonModel\s*(\(\s*(object)?\s*\))?\s*:/m;
const COMPLETES_CONFIGS = /\bauto_complete_config\b/;

/** Returns the arguments that name the models of a server in explicit mode. */
export async function argumentsForModels(
  modelRepository: string,
  { loadModels = [], laterModels = [] }: Pick<LaunchOptions, 'loadModels' | 'laterModels'>,
): Promise<string[]> {
  const loading = loadModels.map((model) => `--load-model=${model}`);
  return [...loading, ...(await argumentsForConfigs(modelRepository, [...loadModels, ...laterModels]))];
}

/**
 * Returns the option that makes Triton take configs as they are, if it only affects the load time:
 * before each full load of a Python model, Triton starts a process only to ask the model to
 * complete its config, which takes 1.2 of 1.3 s (seen on Triton 2.51). The option is given if every
 * named model is a Python model with a whole config that completes nothing itself, or an ensemble
 * of such models. Other backends add dynamic batching when they complete a config, which must stay
 * as it is in production. Anything unreadable is left to the server.
 */
export async function argumentsForConfigs(modelRepository: string, models: readonly string[]): Promise<string[]> {
  const complete = await Promise.all(models.map((model) => isComplete(modelRepository, model).catch(() => false)));
  return complete.length > 0 && complete.every(Boolean) ? ['--disable-auto-complete-config'] : [];
}

/** `over`: the ensembles that contain the model. */
async function isComplete(modelRepository: string, model: string, over: readonly string[] = []): Promise<boolean> {
  if (over.includes(model)) return false;
  const directory = join(modelRepository, model);
  const file = join(directory, 'config.pbtxt');
  const { config, unknownFields } = parseConfigText(await readText(file, fileLimits.modelConfig), file);
  const parts = composingModels(config);
  if (parts.length > 0) {
    const complete = await Promise.all(parts.map((part) => isComplete(modelRepository, part, [...over, model])));
    return unknownFields.length === 0 && complete.every(Boolean);
  }
  const { backend, input = [], output = [], default_model_filename: named } = config;
  const name = typeof named === 'string' && named !== '' ? named : PYTHON_FILE;
  if (backend !== 'python' || input.length === 0 || output.length === 0 || unknownFields.length > 0) return false;
  const versions = (await readdir(directory)).filter((entry) => VERSION.test(entry));
  const sources = await Promise.all(
    versions.map((version) => readText(join(directory, version, name), fileLimits.results)),
  );
  return sources.length > 0 && sources.every((source) => OWN_CLASS.test(source) && !COMPLETES_CONFIGS.test(source));
}
