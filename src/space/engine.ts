import { canonicalJson, type Json, type JsonObject } from '#base/json.ts';
import { lookUp } from '#base/look-up.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { readPath } from './edits/config-path.ts';
import type { ConfigPath, EngineTraits } from './types.ts';

/**
 * While a candidate is built, settings of a language model's engine are kept next to the fields of
 * a model config, under names that no field of Triton's ModelConfig has: `engine.max_num_seqs` for
 * a setting on its command line or in its `model.json`, `config_file.…` for a file of options that
 * its command line names, `environment.…` for variables.
 */
export const settingRoots = ['engine', 'config_file', 'environment'] as const;

/** Defaults of an engine. */
const DEFAULTS = 'engine_defaults';

export type EngineSettings = { readonly [root in (typeof settingRoots)[number]]?: JsonObject };

/** True if a path is of an engine's settings. */
export const isSettingPath = ([root]: ConfigPath): boolean =>
  typeof root === 'string' && ((settingRoots as readonly string[]).includes(root) || root === DEFAULTS);

/** Returns a model config together with settings, and with the engine's defaults for the others. */
export const withSettings = (config: ModelConfig, settings: EngineSettings, defaults: JsonObject): ModelConfig =>
  ({ ...config, ...settings, [DEFAULTS]: defaults }) as ModelConfig;

/** Separates the two again. */
export function splitSettings(config: ModelConfig): {
  readonly config: ModelConfig;
  readonly settings: EngineSettings;
} {
  const both = Object.entries(config as JsonObject);
  const isSetting = ([name]: readonly [string, unknown]): boolean => isSettingPath([name]);
  const settings = both.filter((each) => isSetting(each) && each[0] !== DEFAULTS);
  return {
    config: Object.fromEntries(both.filter((each) => !isSetting(each))) as ModelConfig,
    settings: Object.fromEntries(settings) as EngineSettings,
  };
}

/**
 * Returns the settings without those that equal the engine's defaults and are absent from the base:
 * with and without them the server is the same.
 */
export function withoutDefaults(
  settings: EngineSettings,
  base: EngineSettings,
  { defaults, varying }: Pick<EngineTraits, 'defaults' | 'varying'>,
): EngineSettings {
  const { engine, ...others } = settings;
  if (engine === undefined) return settings;
  const isSure = (name: string): boolean => Object.hasOwn(defaults, name) && !varying.includes(name);
  const isIdle = ([name, value]: readonly [string, unknown]): boolean =>
    isSure(name) &&
    lookUp(base.engine, name) === undefined &&
    canonicalJson(value as Json) === canonicalJson(lookUp(defaults, name) as Json);
  const left = Object.entries(engine).filter((each) => !isIdle(each));
  return left.length === 0 && base.engine === undefined ? others : { ...others, engine: Object.fromEntries(left) };
}

/**
 * Returns the value at a path of a model config with settings; for an engine's setting without a
 * value, the engine's default.
 */
export function readField(config: Json | undefined, path: ConfigPath): Json | undefined {
  const ownPath = readPath(config, path);
  return ownPath === undefined && path[0] === 'engine' ? readPath(config, [DEFAULTS, ...path.slice(1)]) : ownPath;
}
