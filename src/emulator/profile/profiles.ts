import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { messageOf, TrituneError } from '../../base/errors.ts';
import { readYaml } from '../../base/yaml.ts';
import { checkServiceLaw } from '../../queueing/service-law.ts';
import { readStoredConfig } from './posted-config.ts';
import { type Profile, profileSchema } from './schema.ts';
import { lawOf } from './simulators.ts';

/** The package's own profiles: two levels up from `src/emulator` and from `dist/emulator` alike. */
const folder = fileURLToPath(new URL('../../../emulator-profiles/', import.meta.url));

/** The names of the profiles that come with the package. */
export function profileNames(): string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => basename(file, '.yaml'))
    .sort();
}

/**
 * A profile of the package by its name, or any by the path of its file (anything with a `/`, `\` or `.`).
 * Errors: PROFILE_INVALID, with the file, the place in it and the reason.
 */
export function loadProfile(nameOrFile: string): Profile {
  const isFile = /[./\\]/.test(nameOrFile);
  if (!isFile && !profileNames().includes(nameOrFile)) {
    throw new TrituneError(
      'PROFILE_INVALID',
      `there is no emulator profile '${nameOrFile}'`,
      `choose one of ${profileNames().join(', ')}, or give the path of a profile file`,
    );
  }
  const file = isFile ? nameOrFile : join(folder, `${nameOrFile}.yaml`);
  return parseProfile(readText(file), file);
}

/** Reads the text of a profile file; `file` is for messages. Errors: PROFILE_INVALID. */
export function parseProfile(text: string, file: string): Profile {
  const checked = profileSchema.safeParse(yamlOf(text, file));
  if (!checked.success) {
    const [issue] = checked.error.issues;
    throw invalid(file, issue?.path.join('.') || 'the whole file', issue?.message ?? 'is not a profile');
  }
  for (const [index, model] of checked.data.models.entries()) {
    check(file, `models.${index}.config`, () => readStoredConfig(model.config));
    check(file, `models.${index}.law`, () => checkServiceLaw(lawOf(model, [])));
    for (const [at, arm] of model.arms.entries())
      check(file, `models.${index}.arms.${at}`, () => checkServiceLaw(lawOf(model, [arm])));
  }
  checkEnsembles(checked.data, file);
  return checked.data;
}

function yamlOf(text: string, file: string): unknown {
  try {
    return readYaml(text).value;
  } catch (error) {
    throw invalid(file, 'the text', messageOf(error), error);
  }
}

/** Their configs, and that each step names another model of the profile. */
function checkEnsembles({ models, ensembles }: Profile, file: string): void {
  const names = [...models, ...ensembles].map(({ config }) => config.name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw invalid(file, 'models', `there is more than one model '${twice}'`);
  for (const [index, { config }] of ensembles.entries()) {
    const place = `ensembles.${index}.config`;
    check(file, place, () => readStoredConfig(config));
    const { step } = config.ensemble_scheduling;
    const wrong = step.find(({ model_name: name }) => name === config.name || !names.includes(name));
    if (wrong) throw invalid(file, place, `'${wrong.model_name}' is no other model of the profile`);
  }
}

function check(file: string, place: string, rule: () => unknown): void {
  try {
    rule();
  } catch (error) {
    throw invalid(file, place, messageOf(error), error);
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw invalid(file, 'the file', messageOf(error), error);
  }
}

function invalid(file: string, place: string, reason: string, cause?: unknown): TrituneError {
  return new TrituneError(
    'PROFILE_INVALID',
    `emulator profile ${file}: ${place}: ${reason}`,
    'the profiles that come with tritune show the format',
    { cause },
  );
}
