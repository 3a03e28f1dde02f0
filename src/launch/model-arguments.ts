import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { composingModels } from '../triton/config/ensemble-rules.ts';
import { parseConfigText } from '../triton/config/parser.ts';
import type { LaunchOptions } from './types.ts';

/** A version of a model is a directory whose name is a number. */
const VERSION = /^[0-9]+$/;
const PYTHON_FILE = 'model.py';
/** The class of the Python backend when it inherits nothing: all that it does is in its file. */
const OWN_CLASS = /^class\s+TritonPythonModel\s*(\(\s*(object)?\s*\))?\s*:/m;
const COMPLETES_CONFIGS = /\bauto_complete_config\b/;

/** Returns the arguments for a server in explicit mode that name its models. */
export async function argumentsForModels(
  modelRepository: string,
  { loadModels = [], laterModels = [] }: Pick<LaunchOptions, 'loadModels' | 'laterModels'>,
): Promise<string[]> {
  const loading = loadModels.map((model) => `--load-model=${model}`);
  return [...loading, ...(await argumentsForConfigs(modelRepository, [...loadModels, ...laterModels]))];
}

/**
 * The option, if any, by which Triton takes configs as they are, where it changes nothing but the time of a load: before each full load
 * of a Python model Triton starts a process only to ask the model to complete its config, which takes 1.2 of 1.3 s (seen on Triton 2.51).
 * Given where every model named is a Python model with a whole config, and completes nothing itself, or an ensemble of such models; other
 * backends add dynamic batching when they complete a config, which must stay as it is in production. Whatever cannot be read is left to the server.
 */
export async function argumentsForConfigs(modelRepository: string, models: readonly string[]): Promise<string[]> {
  const complete = await Promise.all(models.map((model) => isComplete(modelRepository, model).catch(() => false)));
  return complete.length > 0 && complete.every(Boolean) ? ['--disable-auto-complete-config'] : [];
}

/** `over`: the ensembles that the model stands in. */
async function isComplete(modelRepository: string, model: string, over: readonly string[] = []): Promise<boolean> {
  if (over.includes(model)) return false;
  const directory = join(modelRepository, model);
  const file = join(directory, 'config.pbtxt');
  const { config, unknownFields } = parseConfigText(await readFile(file, 'utf8'), file);
  const parts = composingModels(config);
  if (parts.length > 0) {
    const complete = await Promise.all(parts.map((part) => isComplete(modelRepository, part, [...over, model])));
    return unknownFields.length === 0 && complete.every(Boolean);
  }
  const { backend, input = [], output = [], default_model_filename: named } = config;
  const name = typeof named === 'string' && named !== '' ? named : PYTHON_FILE;
  if (backend !== 'python' || input.length === 0 || output.length === 0 || unknownFields.length > 0) return false;
  const versions = (await readdir(directory)).filter((entry) => VERSION.test(entry));
  const sources = await Promise.all(versions.map((version) => readFile(join(directory, version, name), 'utf8')));
  return sources.length > 0 && sources.every((source) => OWN_CLASS.test(source) && !COMPLETES_CONFIGS.test(source));
}
