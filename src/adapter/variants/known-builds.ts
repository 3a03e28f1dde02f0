import type { JsonObject } from '#base/json.ts';
import type { Artifact } from '#space/artifact.ts';
import { spaceFromJson } from '#space/source/load.ts';
import type { SearchSpace } from '#space/types.ts';
import { isBuilt } from './cache.ts';

/** Returns the files of the variants of a space. */
export const artifactsIn = ({ parameters }: SearchSpace): readonly Artifact[] =>
  parameters.flatMap(({ cases }) => cases.flatMap(({ options }) => options.flatMap(({ artifact }) => artifact ?? [])));

/** True if the space has variants of the model. */
export const hasVariants = ({ definition }: SearchSpace): boolean => definition.variants !== undefined;

/** Returns the space with cached builds at no cost. */
export function withKnownBuilds(space: SearchSpace, cache: string): SearchSpace {
  const built = artifactsIn(space).filter((artifact) => artifact.build && isBuilt(cache, artifact));
  if (built.length === 0) return space;
  const variants = { ...(space.definition.variants as Record<string, JsonObject>) };
  for (const { variant } of built) {
    const before = variants[variant] as JsonObject;
    variants[variant] = { ...before, build: { ...(before.build as JsonObject), seconds: 0 } };
  }
  return spaceFromJson({ ...space.definition, variants });
}
