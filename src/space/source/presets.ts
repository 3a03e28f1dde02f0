import { existsSync, readdirSync } from 'node:fs';
import { isAbsolute, join, resolve, sep } from 'node:path';
import { packagePath } from '#base/package.ts';
import { backendOfPlatform } from '#triton/config/backend-names.ts';

const presetFolder = packagePath('search-spaces');

/** Returns the names of the presets that come with tritune, in alphabetical order. */
export function presetNames(): string[] {
  return readdirSync(presetFolder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => file.slice(0, -'.yaml'.length).split(sep).join('/'))
    .sort();
}

/**
 * Returns the preset for a model's backend or platform (`onnxruntime`, `tensorrt_plan`, …); `base`
 * if it has none of its own.
 */
export function presetFor(backendOrPlatform: string | undefined): string {
  const name = backendOrPlatform ?? '';
  const backend = backendOfPlatform.get(name) ?? name;
  const names = presetNames();
  return [backend, `${ENGINES}/${backend}`].find((each) => backend !== '' && names.includes(each)) ?? 'base';
}

/** Presets of engines of language models, by their name in the command line that starts one. */
const ENGINES = 'engines';
const engineWords: Readonly<Record<string, RegExp>> = {
  vllm: /(^|[/\s])vllm(\s|$)|vllm\.entrypoints/,
  sglang: /sglang/,
  'tensorrt-llm': /trtllm-serve|tensorrt_llm/,
  'llama-cpp': /llama-server|llama\.cpp/,
};

/**
 * Returns the preset for the engine that a command line starts; undefined for an unknown engine.
 */
export function presetForCommand(command: string): string | undefined {
  const name = Object.keys(engineWords).find((each) => engineWords[each]?.test(command));
  return name === undefined ? undefined : `${ENGINES}/${name}`;
}

/** The file of a search space. */
export interface ResolvedSpace {
  readonly path: string;
  readonly label: string;
  readonly isPreset: boolean;
}

/**
 * Returns the file of a name or path: a preset, or a file relative to `directory`; undefined if
 * there is neither.
 */
export function locate(fileOrPreset: string, directory: string): ResolvedSpace | undefined {
  if (presetNames().includes(fileOrPreset)) {
    const file = `${fileOrPreset}.yaml`;
    return { path: join(presetFolder, file), label: `search-spaces/${file}`, isPreset: true };
  }
  const path = isAbsolute(fileOrPreset) ? fileOrPreset : resolve(directory, fileOrPreset);
  return existsSync(path) ? { path, label: fileOrPreset, isPreset: false } : undefined;
}
