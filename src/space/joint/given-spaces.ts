import { dirname } from 'node:path';
import { isJsonObject, type Json, type JsonObject } from '#base/json.ts';
import { readDocument } from '#base/read-document.ts';
import { loadInlineSpace, loadSpace, type SpaceLoadOptions } from '../source/load.ts';
import { locate } from '../source/presets.ts';
import { readJsonSource, type SpaceSource } from '../source/source.ts';
import { spaceInvalid } from '../source/source-fault.ts';
import type { SearchSpace } from '../types.ts';

/**
 * The search spaces that the user gives: one for each of some models, and one for every other
 * model; neither if nothing is given.
 */
export interface StatedSpaces {
  readonly whole: SearchSpace | null;
  readonly members: { readonly [model: string]: SearchSpace };
  /** Rules over several models, and the limits that they refer to; null for none. */
  readonly across: SpaceSource | null;
}

export const nothingStated: StatedSpaces = { whole: null, members: {}, across: null };

/**
 * Reads a preset, a file, or a definition. A file's `members` hold a space for each of several
 * models: a preset, a file relative to this one, or the content of such a file. Its `others` hold
 * the space of the models that are not named, and its `rules` the rules over several. Errors:
 * SPACE_INVALID.
 */
export function readStatedSpaces(spaces: string | JsonObject, options: SpaceLoadOptions = {}): StatedSpaces {
  if (typeof spaces !== 'string') {
    return isJsonObject(spaces.members)
      ? spacesIn(spaces, 'the space of the study', options)
      : { ...nothingStated, whole: loadInlineSpace(spaces, 'the search space of the study', options) };
  }
  const file = membersFile(spaces, options.directory ?? process.cwd());
  if (file === null) return { ...nothingStated, whole: loadSpace(spaces, options) };
  return spacesIn(file.content, spaces, { ...options, directory: dirname(file.path), isNamedByFile: true });
}

/**
 * Returns the content of a file that has members; null for any other, whose faults `loadSpace`
 * reports.
 */
function membersFile(name: string, directory: string): { readonly path: string; readonly content: JsonObject } | null {
  const space = locate(name, directory);
  if (!space) return null;
  try {
    const content = readDocument(space.path);
    return isJsonObject(content) && isJsonObject(content.members) ? { path: space.path, content } : null;
  } catch {
    return null;
  }
}

function spacesIn(
  { members, others, limits, rules, ...rest }: JsonObject,
  label: string,
  options: SpaceLoadOptions,
): StatedSpaces {
  const place = { label, position: () => null };
  const [stranger] = Object.keys(rest);
  if (stranger !== undefined)
    throw spaceInvalid(place, [stranger], 'beside members there are only others, limits and rules');
  const read = (space: Json | undefined, path: readonly string[]): SearchSpace => {
    if (typeof space === 'string') return loadSpace(space, options);
    if (isJsonObject(space)) return loadInlineSpace(space, `${label} ${path.join('.')}`, options);
    throw spaceInvalid(place, path, 'expected a search space, a preset or a file');
  };
  const named = Object.entries(members as JsonObject).map(([model, space]) => [model, read(space, ['members', model])]);
  const across = { ...(limits !== undefined && { limits }), ...(rules !== undefined && { rules }) };
  return {
    whole: others === undefined ? null : read(others, ['others']),
    members: Object.fromEntries(named),
    across: rules === undefined && limits === undefined ? null : readJsonSource(label, across),
  };
}
