import type { ModelConfig } from './model-config.ts';

/**
 * The parameter of a served config that says which run of tritune sent it. It is on the server
 * only: see `withoutRunMark`.
 */
export const RUN_MARK = 'tritune_run';

/**
 * Longest mark that is read: a host name has at most 253 characters, and a path 4,096 bytes
 * (PATH_MAX of Linux).
 */
const MAX_MARK_LENGTH = 4400;

/** The run that sent a config: its host and the absolute path of its output directory there. */
export interface RunMark {
  readonly host: string;
  readonly directory: string;
}

/** Returns the config with the run's mark. */
export const withRunMark = (config: ModelConfig, { host, directory }: RunMark): ModelConfig => ({
  ...config,
  parameters: { ...config.parameters, [RUN_MARK]: { string_value: `${host}:${directory}` } },
});

/**
 * Returns the config without a mark, as every reader gets it: no file, journal, fingerprint or
 * comparison has the mark.
 */
export function withoutRunMark(config: ModelConfig): ModelConfig {
  if (config.parameters?.[RUN_MARK] === undefined) return config;
  const { parameters, ...rest } = config;
  const { [RUN_MARK]: _, ...others } = parameters;
  return Object.keys(others).length > 0 ? { ...config, parameters: others } : rest;
}

/**
 * Returns the mark in a config; null if there is none. What is no mark of ours has an empty host
 * and directory.
 */
export function runMarkIn({ parameters }: ModelConfig): RunMark | null {
  const text = parameters?.[RUN_MARK]?.string_value;
  if (text === undefined) return null;
  const [, host = '', directory = ''] = /^([^:\s]{1,253}):(\/.*)$/s.exec(text.slice(0, MAX_MARK_LENGTH)) ?? [];
  return { host, directory };
}
