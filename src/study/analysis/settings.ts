import { isTrituneError } from '../../base/errors.ts';
import type { Json } from '../../base/json.ts';
import { lookUp } from '../../base/look-up.ts';
import { isMessage } from '../../space/edits/config-fields.ts';
import { isJointJson, jointFromJson } from '../../space/joint/definition.ts';
import { type JointSpace, jointName } from '../../space/joint/joint-space.ts';
import { configOfModel, fieldOf } from '../../space/model-configs.ts';
import { spaceFromJson } from '../../space/source/load.ts';
import type { Assignment, Candidate, ConfigPath, SearchSpace } from '../../space/types.ts';
import type { StudyStarted } from '../records/records.ts';
import type { Trial } from '../types.ts';

/** The search space's parameters and the values that a candidate has for them, as text. */
export interface ComparedSettings {
  readonly names: readonly string[];
  /** Returns one text for each name. */
  of(candidate: Candidate): readonly string[];
}

type Tried = Pick<Trial, 'candidate'>;

/** The text of a parameter that the config does not have. */
export const ABSENT = 'not set';
const AS_ORIGINAL = 'as original';

/** Returns the study's space; null when the journal's version of spaces is no longer understood. */
export function spaceOf({ space }: Pick<StudyStarted, 'space'>): SearchSpace | null {
  try {
    return spaceFromJson(space);
  } catch (error) {
    if (isTrituneError(error, 'SPACE_INVALID')) return null;
    throw error;
  }
}

/**
 * Returns the joint space of models that are tuned together; null for a single model, and where
 * `spaceOf` returns null.
 */
export function jointSpaceOf({ space, original, model, topology }: StudyStarted): JointSpace | null {
  if (!topology || !isJointJson(space)) return null;
  try {
    return jointFromJson(space, original, topology.fronts[0]?.model ?? model);
  } catch (error) {
    if (isTrituneError(error, 'SPACE_INVALID')) return null;
    throw error;
  }
}

/**
 * Returns the settings of a study's space; for several models those of each, as `MODEL/parameter`.
 */
export function settingsOfStudy(started: StudyStarted, trials: readonly Tried[]): ComparedSettings {
  const joint = jointSpaceOf(started);
  if (!joint) return settingsOf(spaceOf(started), trials);
  const parts = joint.members.map(({ model, space }) => {
    const members = trials.map(({ candidate }) => ({ candidate: memberOf(candidate, model) }));
    return { model, settings: settingsOf(space, members) };
  });
  return {
    names: parts.flatMap(({ model, settings }) => settings.names.map((name) => jointName(model, name))),
    of: (candidate) => parts.flatMap(({ model, settings }) => settings.of(memberOf(candidate, model))),
  };
}

/**
 * Returns the settings that a candidate has and the original has not, by name, in the order of the
 * space. Without one it returns the assignment: that of a candidate that removes a field only, or
 * equals the original.
 */
export function changedSettings(
  { names, of }: ComparedSettings,
  original: Candidate,
  candidate: Candidate,
): Assignment {
  const [before, after] = [of(original), of(candidate)];
  const changed = names.flatMap((name, index): [string, string][] => {
    const text = after[index] ?? ABSENT;
    return text === ABSENT || text === before[index] ? [] : [[name, text]];
  });
  return changed.length > 0 ? Object.fromEntries(changed) : candidate.assignment;
}

/** Returns the part of a joint candidate for one of its models. */
function memberOf(candidate: Candidate, model: string): Candidate {
  const prefix = jointName(model, '');
  const entries = Object.entries(candidate.assignment).filter(([name]) => name.startsWith(prefix));
  return {
    ...candidate,
    assignment: Object.fromEntries(entries.map(([name, value]) => [name.slice(prefix.length), value])),
    value: { models: { [model]: configOfModel(candidate, model) } },
  };
}

/**
 * Returns the settings of a space. A parameter of one field is read from the config, so that a
 * value that was set equals one that was there before; an absent field has the value that trials
 * set without effect on the config (configs have no defaults), if any did. For a message field only
 * its presence counts. A parameter of several fields, and every parameter without an understood
 * space, is read from the assignment.
 */
export function settingsOf(space: SearchSpace | null, trials: readonly Tried[]): ComparedSettings {
  const paths = new Map(space?.parameters.map(({ name, path }) => [name, path]));
  const assigned = trials.flatMap(({ candidate }) => Object.keys(candidate.assignment));
  const names = [...new Set([...paths.keys(), ...assigned])];
  const defaults = defaultsOf(paths, trials);
  return {
    names,
    of: (candidate) =>
      names.map((name) => {
        const { assignment } = candidate;
        const path = paths.get(name);
        const value = lookUp(assignment, name) ?? null;
        const field = path && fieldOf(candidate, path);
        if (path && !isMessage(path)) {
          return field === undefined ? (defaults.get(name) ?? ABSENT) : textOf(field as Json);
        }
        if (path && (value === null || typeof value === 'boolean')) return String(field !== undefined);
        return value === null ? AS_ORIGINAL : textOf(value);
      }),
  };
}

/** Returns the default of each field that a trial set without effect on the config. */
function defaultsOf(paths: ReadonlyMap<string, ConfigPath | null>, trials: readonly Tried[]): Map<string, string> {
  const defaults = new Map<string, string>();
  for (const { candidate } of trials) {
    for (const [name, value] of Object.entries(candidate.assignment)) {
      const path = paths.get(name);
      if (!path || isMessage(path) || value === null) continue;
      if (fieldOf(candidate, path) === undefined) defaults.set(name, textOf(value));
    }
  }
  return defaults;
}

const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));
