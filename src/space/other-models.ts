import type { SearchSpace } from './types.ts';

/**
 * Returns the names of the models, other than the study's own, that candidates of the space may be.
 */
export function otherModelsIn({ parameters }: SearchSpace, ownModel: string): readonly string[] {
  const options = parameters.flatMap(({ cases }) => cases.flatMap((each) => each.options));
  return [...new Set(options.flatMap(({ model }) => model ?? []))].filter((model) => model !== ownModel);
}
