import { isDeepStrictEqual } from 'node:util';
import { lookUp } from '#base/look-up.ts';
import { bindSpace } from '#space/bound-space.ts';
import { buildCandidate } from '#space/candidate.ts';
import { buildJoint } from '#space/joint/build-joint.ts';
import { byMember, type JointSpace, jointly } from '#space/joint/joint-space.ts';
import { optionsFor } from '#space/options.ts';
import type { Assignment, Candidate, CandidateOutcome, SearchSpace } from '#space/types.ts';
import type { StudyStarted } from '../../records/records.ts';
import { findJointSpace, findSpace } from '../settings.ts';

/**
 * A parameter that the best and the original config set differently, and the two configs that
 * isolate it.
 */
export interface ChangedParameters {
  /** The parameter, with those that apply only together with it. */
  readonly set: Assignment;
  /** The best without it. */
  readonly putBack: Candidate;
  /** The original config with nothing else; null when that is not legal. */
  readonly alone: Candidate | null;
}

/**
 * Returns the parameters that the best and the original set differently, of several models those of
 * each model together; none when the study's space does not lead to the best.
 */
export function listChangedParameters(started: StudyStarted, best: Candidate): readonly ChangedParameters[] {
  const build = findBuilder(started);
  if (!build || build(best.assignment)?.fingerprint !== best.fingerprint) return [];
  const joint = findJointSpace(started);
  if (joint) return changedModels(joint, best, build);
  const space = findSpace(started) as SearchSpace;
  const changed = Object.keys(best.assignment).flatMap((name): ChangedParameters[] => {
    const kept = legalPart(without(best.assignment, [name, ...listFields(space, name)]), build);
    const putBack = build(kept);
    if (!putBack || isSameConfig(putBack, best)) return [];
    const set = without(best.assignment, Object.keys(kept));
    return [{ set, putBack, alone: build(set) }];
  });
  // If two lead to the same config, keep the one with fewer parameters.
  const bySize = changed.sort((a, b) => computeSize(a.set) - computeSize(b.set));
  return bySize.filter(
    ({ putBack }, index) => bySize.findIndex((each) => each.putBack.fingerprint === putBack.fingerprint) === index,
  );
}

/**
 * The parameters of a model as one change: a search of several models seldom varies one of them
 * alone.
 */
function changedModels(joint: JointSpace, best: Candidate, build: Build): readonly ChangedParameters[] {
  const parts = byMember(joint, best.assignment);
  return joint.members.flatMap(({ model }, index): ChangedParameters[] => {
    const parameters = jointly(model, parts[index] ?? {});
    const putBack = build(without(best.assignment, Object.keys(parameters)));
    if (!putBack || isSameConfig(putBack, best)) return [];
    return [{ set: withoutUnchanged(parameters, best, build), putBack, alone: build(parameters) }];
  });
}

/**
 * True if both are the same config, or differ only in what a server or an engine has anyway: an
 * explicit default has the shape of an absent field.
 */
const isSameConfig = (a: Candidate, b: Candidate): boolean =>
  a.fingerprint === b.fingerprint || isDeepStrictEqual(a.shape, b.shape);

/**
 * Returns the part of a candidate's assignment that differs from the original's effective values;
 * all of it if that is unknown.
 */
export function listChangedSettings(
  started: StudyStarted,
  { assignment, fingerprint }: Pick<Candidate, 'assignment' | 'fingerprint'>,
): Assignment {
  const build = findBuilder(started);
  const candidate = build?.(assignment);
  if (!build || candidate?.fingerprint !== fingerprint) return assignment;
  return withoutUnchanged(assignment, candidate, build);
}

/** Leaves out the settings without which the config is the same. */
function withoutUnchanged(set: Assignment, best: Candidate, build: Build): Assignment {
  const unchanged = Object.keys(set).filter((name) => {
    const other = build(without(best.assignment, [name]));
    return other !== null && isSameConfig(other, best);
  });
  return without(set, unchanged);
}

/**
 * Returns how the study's space builds candidates; null for a space that is no longer understood.
 */
function findBuilder(started: StudyStarted): Build | null {
  const joint = findJointSpace(started);
  if (joint) return (assignment) => candidateIn(buildJoint(joint, assignment));
  const space = findSpace(started);
  return space && ((assignment) => candidateIn(buildCandidate(space, started.original, assignment)));
}

const candidateIn = (outcome: CandidateOutcome): Candidate | null => (outcome.legal ? outcome.candidate : null);

/**
 * Returns the parameter's values in the space above the candidate's; null if the candidate's is not
 * a number of the space.
 */
export function largerIn(started: StudyStarted, { assignment }: Candidate, parameter: string): number[] | null {
  const space = findSpace(started);
  const bound = space && bindSpace(space, started.original);
  const value = lookUp(assignment, parameter);
  if (!bound?.byName.has(parameter) || typeof value !== 'number') return null;
  const options = optionsFor(bound, parameter, assignment).map((option) => option.value);
  return options.filter((option) => typeof option === 'number').filter((option) => option > value);
}

type Build = (assignment: Assignment) => Candidate | null;

/** Returns the parameters that set a field of the message that this one sets as a whole. */
function listFields({ parameters }: SearchSpace, name: string): readonly string[] {
  const whole = parameters.find((parameter) => parameter.name === name)?.path;
  if (!whole) return [];
  return parameters
    .filter(({ path }) => path && path.length > whole.length && whole.every((part, index) => part === path[index]))
    .map((parameter) => parameter.name);
}

/**
 * Returns the largest legal part of the assignment; a delay, for example, does not apply without
 * batching.
 */
function legalPart(assignment: Assignment, build: Build): Assignment {
  if (build(assignment)) return assignment;
  let kept: Assignment = {};
  let before: Assignment | null = null;
  // A parameter may become legal only after a later one.
  while (before === null || computeSize(before) < computeSize(kept)) {
    before = kept;
    for (const [name, value] of Object.entries(assignment)) {
      const more = { ...kept, [name]: value };
      if (build(more)) kept = more;
    }
  }
  return kept;
}

const computeSize = (assignment: Assignment): number => Object.keys(assignment).length;

function without(assignment: Assignment, names: readonly string[]): Assignment {
  return Object.fromEntries(Object.entries(assignment).filter(([name]) => !names.includes(name)));
}
