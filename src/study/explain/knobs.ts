import { bindSpace, optionsIn, sceneOf } from '../../space/bound-space.ts';
import { buildCandidate } from '../../space/candidate.ts';
import type { Assignment, Candidate, SearchSpace } from '../../space/types.ts';
import type { StudyStarted } from '../records.ts';
import { spaceOf } from '../settings.ts';

/** One thing that the best does otherwise than the original, and the two configs that tell it apart from the rest. */
export interface Knob {
  /** One parameter, with those that mean nothing without it. */
  readonly set: Assignment;
  /** The best but for it. */
  readonly putBack: Candidate;
  /** The original with nothing but it; null when that would be no legal config. */
  readonly alone: Candidate | null;
}

/** What the best sets otherwise than the original; none when the study's space does not lead to the best. */
export function knobsOf(started: StudyStarted, best: Candidate): readonly Knob[] {
  const space = spaceOf(started);
  if (!space) return [];
  const build: Build = (assignment) => {
    const outcome = buildCandidate(space, started.originalConfig, assignment);
    return outcome.legal ? outcome.candidate : null;
  };
  if (build(best.assignment)?.fingerprint !== best.fingerprint) return [];
  const knobs = Object.keys(best.assignment).flatMap((name): Knob[] => {
    const kept = legalPart(without(best.assignment, [name, ...fieldsOf(space, name)]), build);
    const putBack = build(kept);
    if (!putBack || putBack.fingerprint === best.fingerprint) return [];
    const set = without(best.assignment, Object.keys(kept));
    return [{ set, putBack, alone: build(set) }];
  });
  // Of two that come to the same config, the one that names less.
  const bySize = knobs.sort((a, b) => sizeOf(a.set) - sizeOf(b.set));
  return bySize.filter(
    ({ putBack }, index) => bySize.findIndex((knob) => knob.putBack.fingerprint === putBack.fingerprint) === index,
  );
}

/** The values that the space has for the parameter above the one in this candidate; null where it is none of the space's. */
export function largerIn(started: StudyStarted, { assignment }: Candidate, parameter: string): number[] | null {
  const space = spaceOf(started);
  const bound = space && bindSpace(space, started.originalConfig);
  const setting = bound?.byName.get(parameter);
  const value = assignment[parameter];
  if (!bound || !setting || typeof value !== 'number') return null;
  const options = optionsIn(setting, sceneOf(bound, assignment)).map((option) => option.value);
  return options.filter((option) => typeof option === 'number').filter((option) => option > value);
}

type Build = (assignment: Assignment) => Candidate | null;

/** Parameters that set a field of what this one sets as a whole: each of them would bring it back. */
function fieldsOf({ parameters }: SearchSpace, name: string): readonly string[] {
  const whole = parameters.find((parameter) => parameter.name === name)?.path;
  if (!whole) return [];
  return parameters
    .filter(({ path }) => path && path.length > whole.length && whole.every((part, index) => part === path[index]))
    .map((parameter) => parameter.name);
}

/** As much of the assignment as is legal: a delay may mean nothing without batching. */
function legalPart(assignment: Assignment, build: Build): Assignment {
  if (build(assignment)) return assignment;
  let kept: Assignment = {};
  let before: Assignment | null = null;
  // A parameter may be legal only once a later one is there.
  while (before === null || sizeOf(before) < sizeOf(kept)) {
    before = kept;
    for (const [name, value] of Object.entries(assignment)) {
      const more = { ...kept, [name]: value };
      if (build(more)) kept = more;
    }
  }
  return kept;
}

const sizeOf = (assignment: Assignment): number => Object.keys(assignment).length;

function without(assignment: Assignment, names: readonly string[]): Assignment {
  return Object.fromEntries(Object.entries(assignment).filter(([name]) => !names.includes(name)));
}
