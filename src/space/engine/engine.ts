import { canonicalJson, type Json, type JsonObject } from '../../base/json.ts';
import type { ModelConfig } from '../../triton/config/model-config.ts';
import { readPath } from '../edits/config-path.ts';
import type { ConfigPath, EngineTraits } from '../types.ts';

/**
 * Settings of a language model's engine stand beside the fields of a model config while a candidate is built, under names that no field of
 * Triton's ModelConfig has: `engine.max_num_seqs` for what its command line or its `model.json` says, `config_file.…` for a file of options that
 * its command line names, `environment.…` for variables.
 */
export const settingRoots = ['engine', 'config_file', 'environment'] as const;

/** Defaults of an engine. */
const DEFAULTS = 'engine_defaults';

export type EngineSettings = { readonly [root in (typeof settingRoots)[number]]?: JsonObject };

/** Tells whether a path is about an engine's settings. */
export const isSettingPath = ([root]: ConfigPath): boolean =>
  typeof root === 'string' && ((settingRoots as readonly string[]).includes(root) || root === DEFAULTS);

/** Returns a model config with settings beside it, and what the engine has where they say nothing. */
export const withSettings = (config: ModelConfig, settings: EngineSettings, defaults: JsonObject): ModelConfig =>
  ({ ...config, ...settings, [DEFAULTS]: defaults }) as ModelConfig;

/** Takes the two apart again. */
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

/** Returns the settings without those that equal the engine's defaults and are absent from the base: both start the same server. */
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
    base.engine?.[name] === undefined &&
    canonicalJson(value as Json) === canonicalJson(defaults[name] as Json);
  const left = Object.entries(engine).filter((each) => !isIdle(each));
  return left.length === 0 && base.engine === undefined ? others : { ...others, engine: Object.fromEntries(left) };
}

/** Returns the value at a path of a model config with settings; of an engine's setting that nobody gave, what the engine has then. */
export function readField(config: Json | undefined, path: ConfigPath): Json | undefined {
  const own = readPath(config, path);
  return own === undefined && path[0] === 'engine' ? readPath(config, [DEFAULTS, ...path.slice(1)]) : own;
}
