import { existsSync, readdirSync } from 'node:fs';
import { basename, isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The package's `search-spaces/` folder: two levels up from `src/space` and from `dist/space` alike. */
const presetFolder = fileURLToPath(new URL('../../../search-spaces/', import.meta.url));

/** The names of the presets that come with tritune, in alphabetical order. */
export function presetNames(): string[] {
  return readdirSync(presetFolder)
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => basename(file, '.yaml'))
    .sort();
}

/** The preset for a model's backend or platform (`onnxruntime`, `tensorrt_plan`, …); `base` when there is none of its own. */
export function presetFor(backendOrPlatform: string | undefined): string {
  const name = backendOrPlatform ?? '';
  const backend = /^(tensorflow|pytorch|onnxruntime|tensorrt)_(?!llm)/.exec(name)?.[1] ?? name;
  return backend !== '' && presetNames().includes(backend) ? backend : 'base';
}

/** The file that a name or path stands for: a preset, or a file relative to `directory`; undefined when there is neither. */
export function locate(fileOrPreset: string, directory: string): { path: string; label: string } | undefined {
  if (presetNames().includes(fileOrPreset)) {
    return { path: join(presetFolder, `${fileOrPreset}.yaml`), label: `search-spaces/${fileOrPreset}.yaml` };
  }
  const path = isAbsolute(fileOrPreset) ? fileOrPreset : resolve(directory, fileOrPreset);
  return existsSync(path) ? { path, label: fileOrPreset } : undefined;
}
