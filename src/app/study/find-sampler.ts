import { TrituneError } from '../../base/errors.ts';
import type { StudySpec } from '../../spec/study-spec.ts';
import {
  isSamplerName,
  kindOf,
  type SamplerDefinition,
  type SamplerKind,
  samplerKind,
  samplerNames,
} from '../../study/search/samplers/registry.ts';
import { hasFunctions, isModulePath, loadExport } from './load-module.ts';

/** What the performance model of the queueing sampler knows is Triton, and engines of language models; for other servers a sampler that asks for no model. */
const usual = { triton: 'queueing', engine: 'queueing', other: 'tpe' } as const;

/**
 * The sampler of a study on a Triton, on an engine of a language model, or on another kind of server: the one that its spec names, by a built-in name or by
 * the path of a module that exports it as `sampler` or by default. Errors: USAGE for a name that is neither,
 * INPUT_INVALID for a module that cannot be loaded or exports no sampler.
 */
export async function findSampler({ sampler }: StudySpec, server: keyof typeof usual = 'triton'): Promise<SamplerKind> {
  const { name = usual[server] } = sampler;
  checkSamplerName(name);
  return isSamplerName(name) ? samplerKind(name) : kindOf(await loadExport(name, { name: 'sampler', hint, isValid }));
}

/** Errors: USAGE for a text that is neither the name of a built-in sampler nor the path of a module. */
export function checkSamplerName(name: string): void {
  if (isSamplerName(name) || isModulePath(name)) return;
  throw new TrituneError(
    'USAGE',
    `there is no sampler '${name}'`,
    `use ${samplerNames.join(', ')}, or the path of a module, such as ./my-sampler.js`,
  );
}

const hint = 'export const sampler = { name, create(space, options) } (docs/extending.md)';

const isValid = (value: unknown): value is SamplerDefinition => hasFunctions(value, 'create');
