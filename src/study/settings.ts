import { isTrituneError } from '../base/errors.ts';
import type { Json } from '../base/json.ts';
import { isMessage } from '../space/config-fields.ts';
import { readPath } from '../space/config-path.ts';
import { spaceFromJson } from '../space/load.ts';
import type { Candidate, ConfigPath, SearchSpace } from '../space/types.ts';
import type { StudyStarted } from './records.ts';
import type { Trial } from './types.ts';

/** The search space's parameters, and what a candidate has each of them set to, as people read it. */
export interface Settings {
  readonly names: readonly string[];
  /** One text for each name. */
  of(candidate: Candidate): readonly string[];
}

/** What stands for a parameter that the config does not have. */
const ABSENT = 'not set';
const AS_ORIGINAL = 'as original';

/** The study's space; null when the journal is of a version whose spaces are no longer understood. */
export function spaceOf({ space }: Pick<StudyStarted, 'space'>): SearchSpace | null {
  try {
    return spaceFromJson(space);
  } catch (error) {
    if (isTrituneError(error, 'SPACE_INVALID')) return null;
    throw error;
  }
}

/**
 * A parameter of one field is read from the config, so that a value that was set is the same as one that was there before;
 * a field that is not there has the value that trials set and that left it out (configs are without defaults), if any did.
 * Of a message it is read whether it is there. One of several fields is known by its name in the assignment, as is everything
 * without an understood space.
 */
export function settingsOf(space: SearchSpace | null, trials: readonly Trial[]): Settings {
  const paths = new Map(space?.parameters.map(({ name, path }) => [name, path]));
  const assigned = trials.flatMap(({ candidate }) => Object.keys(candidate.assignment));
  const names = [...new Set([...paths.keys(), ...assigned])];
  const defaults = defaultsOf(paths, trials);
  return {
    names,
    of: ({ assignment, config }) =>
      names.map((name) => {
        const path = paths.get(name);
        const own = assignment[name] ?? null;
        const found = path && readPath(config as Json, path);
        if (path && !isMessage(path)) {
          return found === undefined ? (defaults.get(name) ?? ABSENT) : textOf(found as Json);
        }
        if (path && (own === null || typeof own === 'boolean')) return String(found !== undefined);
        return own === null ? AS_ORIGINAL : textOf(own);
      }),
  };
}

/** For each field that a trial set to what is its default anyway, that value: its config does not have the field. */
function defaultsOf(paths: ReadonlyMap<string, ConfigPath | null>, trials: readonly Trial[]): Map<string, string> {
  const defaults = new Map<string, string>();
  for (const { candidate } of trials) {
    for (const [name, value] of Object.entries(candidate.assignment)) {
      const path = paths.get(name);
      if (!path || isMessage(path) || value === null) continue;
      if (readPath(candidate.config as Json, path) === undefined) defaults.set(name, textOf(value));
    }
  }
  return defaults;
}

const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));
