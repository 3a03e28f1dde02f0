import type { Json } from '#base/json.ts';
import type { Artifact } from '../artifact.ts';
import { formatMark, MARK } from '../artifact.ts';
import { always } from '../condition.ts';
import { FieldFault, fieldWrite } from '../edits/config-fields.ts';
import { requirePath } from '../subject.ts';
import type { FieldWrite, Parameter, ParameterOption } from '../types.ts';
import type { Placed } from './inherit.ts';
import { spaceInvalid } from './source-fault.ts';
import { artifactIn } from './variant-content.ts';
import type { VariantFile } from './variant-form.ts';

/** The parameter whose values are the variants. */
export const VARIANT = 'variant';

/**
 * Fields of a base config about its own backend's files, which another backend's config must not
 * keep.
 */
const OF_THE_BACKEND = ['platform', 'default_model_filename'];

/** Returns the parameter whose values are the variants. Errors: SPACE_INVALID with the place. */
export function variantParameter(variants: ReadonlyMap<string, Placed<VariantFile>>): Parameter {
  const all = [...variants];
  const expected = all.flatMap(([name, { value }]): [string, number][] =>
    value.expects === undefined ? [] : [[name, value.expects]],
  );
  return {
    name: VARIANT,
    description: 'what the model is served from',
    path: null,
    cases: [{ when: always, options: all.map(([name, variant]) => toOption(name, variant)) }],
    change: all.some(([, { value }]) => value.build) ? 'expensive' : 'reload',
    expects: new Map(expected),
  };
}

function toOption(name: string, { value: variant, place, path }: Placed<VariantFile>): ParameterOption {
  const config = toConfig(variant);
  const fields = Object.keys(config);
  const writes = fields.map((field) => {
    try {
      return toWrite(field, config[field] as Json);
    } catch (error) {
      if (error instanceof FieldFault) throw spaceInvalid(place, [...path, 'config', field], error.message);
      throw error;
    }
  });
  const artifact = artifactIn(name, variant);
  return {
    value: name,
    writes: [...writes, ...(artifact ? [markWrite(artifact)] : [])],
    ...(artifact && { artifact }),
    ...(variant.model !== undefined && { model: variant.model }),
  };
}

/** Returns its config patch, together with the fields that follow from its other keys. */
function toConfig({ config = {}, version }: VariantFile): { readonly [field: string]: Json } {
  const isOther = 'backend' in config || 'platform' in config;
  const left = isOther ? OF_THE_BACKEND.map((field): [string, Json] => [field, null]) : [];
  const served = version === undefined ? [] : [['version_policy', { specific: { versions: [version] } }] as const];
  return { ...Object.fromEntries([...left, ...served]), ...config };
}

function toWrite(field: string, value: Json): FieldWrite {
  const path = requirePath(field);
  return value === null ? { action: 'remove', path } : fieldWrite(path, value).write;
}

const markWrite = (artifact: Artifact): FieldWrite => ({
  action: 'set',
  path: requirePath(`parameters.${MARK}`),
  value: formatMark(artifact),
});
