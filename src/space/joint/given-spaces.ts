import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { readYaml } from '../../base/yaml.ts';
import { type LoadOptions, loadInlineSpace, loadSpace, spaceFromJson } from '../source/load.ts';
import { locate } from '../source/presets.ts';
import { spaceInvalid } from '../source/source-fault.ts';
import type { SearchSpace } from '../types.ts';

/** What somebody gives as search space: one for every model, or one each for some of several; neither where nothing is given. */
export interface GivenSpaces {
  readonly whole: SearchSpace | null;
  readonly members: { readonly [model: string]: SearchSpace };
}

export const nothingGiven: GivenSpaces = { whole: null, members: {} };

/**
 * Reads a preset, a file, or a definition. Under `members` a file has a space for each of several models: a preset, a file relative to this one, or
 * what such a file would say. Errors: SPACE_INVALID.
 */
export function readGivenSpaces(given: string | JsonObject, options: LoadOptions = {}): GivenSpaces {
  if (typeof given !== 'string') {
    return isJsonObject(given.members)
      ? { whole: null, members: membersOf(given, 'the space of the study', options) }
      : { whole: spaceFromJson(given), members: {} };
  }
  const file = membersFile(given, options.directory ?? process.cwd());
  if (file === null) return { whole: loadSpace(given, options), members: {} };
  return { whole: null, members: membersOf(file.content, given, { ...options, directory: dirname(file.path) }) };
}

/** Returns the content of a file that has members; null for any other, of whose faults `loadSpace` tells. */
function membersFile(name: string, directory: string): { readonly path: string; readonly content: JsonObject } | null {
  const found = locate(name, directory);
  if (!found) return null;
  try {
    const content = readYaml(readFileSync(found.path, 'utf8')).value;
    return isJsonObject(content) && isJsonObject(content.members) ? { path: found.path, content } : null;
  } catch {
    return null;
  }
}

function membersOf({ members, ...others }: JsonObject, label: string, options: LoadOptions): GivenSpaces['members'] {
  const place = { label, position: () => null };
  const [stranger] = Object.keys(others);
  if (stranger !== undefined) throw spaceInvalid(place, [stranger], 'a space with members has nothing beside them');
  const spaces = Object.entries(members as JsonObject).map(([model, space]) => {
    if (typeof space === 'string') return [model, loadSpace(space, options)] as const;
    if (isJsonObject(space)) return [model, loadInlineSpace(space, `${label} members.${model}`, options)] as const;
    throw spaceInvalid(place, ['members', model], 'expected a search space, a preset or a file');
  });
  return Object.fromEntries(spaces);
}
