import type { JsonObject } from '#base/json.ts';
import type { ReadFile } from './read-file.ts';
import type { ModelSettings } from './schema.ts';
import { searchSpace } from './search-space.ts';

/**
 * Returns the search space of a model with its composing models: its own space for all of them,
 * except those that the file specifies. The server knows the models of an ensemble. Errors:
 * INPUT_INVALID with the path of the key.
 */
export function composedSpace(read: ReadFile, name: string, settings: ModelSettings, batch: number): JsonObject {
  const space = searchSpace(read, name, settings, batch);
  const { cpu_only_composing_models: onCpu = [] } = read.content;
  const forCpu = (model: string, its: ModelSettings): ModelSettings =>
    onCpu.includes(model) ? { ...its, cpu_only: true } : its;
  const listed = [
    ...[...read.called].map(([model, its]) => ({ model, its, under: 'bls_composing_models' })),
    ...[...read.steps].map(([model, its]) => ({ model, its, under: 'ensemble_composing_models' })),
  ];
  const others = onCpu
    .filter((model) => listed.every((each) => each.model !== model))
    .map((model) => ({ model, its: {}, under: 'cpu_only_composing_models' }));
  const composing = [...listed, ...others].map(
    ({ model, its, under }) => [model, searchSpace(read, model, forCpu(model, its), batch, under)] as const,
  );
  if (composing.length === 0) return space;
  const front = read.called.size > 0 ? { [name]: space } : {};
  return { members: { ...front, ...Object.fromEntries(composing) }, others: searchSpace(read, name, {}, batch) };
}
