import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { didYouMean } from '#base/nearest.ts';
import { packagePath } from '#base/package.ts';
import { fileLimits, readTextSync } from '#base/read-file.ts';
import { describeFaults } from '#base/schema-faults.ts';
import { readYaml } from '#base/yaml.ts';
import { checkServiceLaw } from '#queueing/service-law.ts';
import { ensembleMisfit } from '#triton/config/ensemble-fit.ts';
import { partsFault } from './parts.ts';
import { readStoredConfig } from './posted-config.ts';
import { type EmulatorProfile, emulatorSchema } from './schema.ts';
import { toLaw } from './simulators.ts';

/** The package's own profiles: two levels up from both `src/emulator` and `dist/emulator`. */
const folder = packagePath('emulator-profiles');

/** Returns the names of the profiles that come with the package. */
export function profileNames(): string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => basename(file, '.yaml'))
    .sort();
}

/**
 * Loads a profile of the package by name, or any by the path of its file (anything with a `/`, `\`
 * or `.`). Errors: PROFILE_INVALID, with the file, the place in it and the reason.
 */
export function loadProfile(nameOrFile: string): EmulatorProfile {
  const isFile = /[./\\]/.test(nameOrFile);
  if (!isFile && !profileNames().includes(nameOrFile)) {
    throw new TrituneError(
      'PROFILE_INVALID',
      `there is no emulator profile '${nameOrFile}'${didYouMean(nameOrFile, profileNames())}`,
      `choose one of ${profileNames().join(', ')}, or give the path of a profile file`,
    );
  }
  const file = isFile ? nameOrFile : join(folder, `${nameOrFile}.yaml`);
  return parseProfile(readText(file), file);
}

/** Reads the text of a profile file; `file` is for messages. Errors: PROFILE_INVALID. */
export function parseProfile(text: string, file: string): EmulatorProfile {
  const checked = emulatorSchema.safeParse(parseYamlText(text, file));
  if (!checked.success) throw invalid(file, describeFaults(checked.error.issues, 'the whole file'));
  for (const [index, model] of checked.data.models.entries()) {
    check(file, `models.${index}.config`, () => readStoredConfig(model.config));
    check(file, `models.${index}.law`, () => checkServiceLaw(toLaw(model, [])));
    for (const [at, arm] of model.arms.entries())
      check(file, `models.${index}.arms.${at}`, () => checkServiceLaw(toLaw(model, [arm])));
  }
  const { ensembles } = checked.data;
  for (const [index, { config }] of ensembles.entries())
    check(file, `ensembles.${index}.config`, () => readStoredConfig(config));
  const fault = partsFault(checked.data) ?? misfit(checked.data);
  if (fault) throw invalid(file, `${fault.place}: ${fault.reason}`);
  return checked.data;
}

/**
 * Returns the first ensemble that could not be served with its models, and why; null if all can.
 */
function misfit({ models, ensembles }: EmulatorProfile): { readonly place: string; readonly reason: string } | null {
  const configs = new Map(
    [...models, ...ensembles].map(({ config }) => [config.name, readStoredConfig(config)] as const),
  );
  for (const [index, { config }] of ensembles.entries()) {
    const reason = ensembleMisfit(configs.get(config.name) ?? {}, (name) => configs.get(name));
    if (reason !== null) return { place: `ensembles.${index}.config`, reason };
  }
  return null;
}

function parseYamlText(text: string, file: string): unknown {
  try {
    return readYaml(text).value;
  } catch (error) {
    throw invalid(file, `the text: ${formatMessage(error)}`, error);
  }
}

function check(file: string, place: string, rule: () => unknown): void {
  try {
    rule();
  } catch (error) {
    throw invalid(file, `${place}: ${formatMessage(error)}`, error);
  }
}

function readText(file: string): string {
  try {
    return readTextSync(file, fileLimits.workload);
  } catch (error) {
    throw invalid(file, `the file: ${formatMessage(error)}`, error);
  }
}

function invalid(file: string, fault: string, cause?: unknown): TrituneError {
  return new TrituneError(
    'PROFILE_INVALID',
    `emulator profile ${file}: ${fault}`,
    'the profiles that come with tritune show the format',
    { cause },
  );
}
