import { TrituneError } from '#base/errors.ts';
import { didYouMean } from '#base/nearest.ts';
import { toRequestKind } from '#spec/request-kind.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import {
  isSamplerName,
  type SamplerDefinition,
  type SamplerKind,
  samplerKind,
  samplerNames,
  toKind,
} from '#study/search/samplers/registry.ts';
import { hasFunctions, isModulePath, loadExport } from './load-module.ts';

/**
 * The queueing sampler has a performance model of Triton and of language model engines; other
 * servers get a sampler that needs no model.
 */
const usualSampler = (spec: StudySpec, hasAdapter: boolean): string =>
  hasAdapter || toRequestKind(spec) === 'http' ? 'tpe' : 'queueing';

/**
 * Returns the sampler of a study; `hasAdapter`: through an adapter that is not tritune's own. The
 * spec gives a built-in name, or the path of a module that exports the sampler as `sampler` or by
 * default. Errors: USAGE for a name that is neither, INPUT_INVALID for a module that cannot be
 * loaded or exports no sampler.
 */
export async function findSampler(spec: StudySpec, hasAdapter = spec.adapter !== undefined): Promise<SamplerKind> {
  const { name = usualSampler(spec, hasAdapter) } = spec.sampler;
  checkSamplerName(name);
  return isSamplerName(name) ? samplerKind(name) : toKind(await loadExport(name, { name: 'sampler', hint, isValid }));
}

/**
 * Errors: USAGE for a text that is neither the name of a built-in sampler nor the path of a module.
 */
export function checkSamplerName(name: string): void {
  if (isSamplerName(name) || isModulePath(name)) return;
  throw new TrituneError(
    'USAGE',
    `there is no sampler '${name}'${didYouMean(name, samplerNames)}`,
    `use ${samplerNames.join(', ')}, or the path of a module, such as ./my-sampler.js`,
  );
}

const hint = 'export const sampler = { name, create(space, options) } (docs/extending.md)';

const isValid = (value: unknown): value is SamplerDefinition => hasFunctions(value, 'create');
