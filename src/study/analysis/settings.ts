import { isTrituneError } from '#base/errors.ts';
import type { Json } from '#base/json.ts';
import { lookUp } from '#base/look-up.ts';
import { isMessage } from '#space/edits/config-fields.ts';
import { isJointJson, jointFromJson } from '#space/joint/definition.ts';
import { type JointSpace, jointName } from '#space/joint/joint-space.ts';
import { configOfModel, readField } from '#space/model-configs.ts';
import { spaceFromJson } from '#space/source/load.ts';
import type { Assignment, Candidate, ConfigPath, SearchSpace } from '#space/types.ts';
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
export function findSpace({ space }: Pick<StudyStarted, 'space'>): SearchSpace | null {
  try {
    return spaceFromJson(space);
  } catch (error) {
    if (isTrituneError(error, 'SPACE_INVALID')) return null;
    throw error;
  }
}

/**
 * Returns the joint space of models that are tuned together; null for a single model, and where
 * `findSpace` returns null.
 */
export function findJointSpace({ space, original, model, topology }: StudyStarted): JointSpace | null {
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
  const joint = findJointSpace(started);
  if (!joint) return toSettings(findSpace(started), trials);
  const parts = joint.members.map(({ model, space }) => {
    const members = trials.map(({ candidate }) => ({ candidate: toMember(candidate, model) }));
    return { model, settings: toSettings(space, members) };
  });
  return {
    names: parts.flatMap(({ model, settings }) => settings.names.map((name) => jointName(model, name))),
    of: (candidate) => parts.flatMap(({ model, settings }) => settings.of(toMember(candidate, model))),
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
function toMember(candidate: Candidate, model: string): Candidate {
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
export function toSettings(space: SearchSpace | null, trials: readonly Tried[]): ComparedSettings {
  const paths = new Map(space?.parameters.map(({ name, path }) => [name, path]));
  const assigned = trials.flatMap(({ candidate }) => Object.keys(candidate.assignment));
  const names = [...new Set([...paths.keys(), ...assigned])];
  const defaults = readDefaults(paths, trials);
  return {
    names,
    of: (candidate) =>
      names.map((name) => {
        const { assignment } = candidate;
        const path = paths.get(name);
        const value = lookUp(assignment, name) ?? null;
        const field = path && readField(candidate, path);
        if (path && !isMessage(path)) {
          return field === undefined ? (defaults.get(name) ?? ABSENT) : formatText(field as Json);
        }
        if (path && (value === null || typeof value === 'boolean')) return String(field !== undefined);
        return value === null ? AS_ORIGINAL : formatText(value);
      }),
  };
}

/** Returns the default of each field that a trial set without effect on the config. */
function readDefaults(paths: ReadonlyMap<string, ConfigPath | null>, trials: readonly Tried[]): Map<string, string> {
  const defaults = new Map<string, string>();
  for (const { candidate } of trials) {
    for (const [name, value] of Object.entries(candidate.assignment)) {
      const path = paths.get(name);
      if (!path || isMessage(path) || value === null) continue;
      if (readField(candidate, path) === undefined) defaults.set(name, formatText(value));
    }
  }
  return defaults;
}

const formatText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));
