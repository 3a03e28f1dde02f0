import { canonicalJson } from '#base/json.ts';
import { buildCandidate } from '#space/candidate.ts';
import { buildJoint } from '#space/joint/build-joint.ts';
import { whyRuledOut } from '#space/narrowing.ts';
import { createScene, optionsIn } from '#space/options.ts';
import type { Assignment, Candidate, CandidateOutcome, ParameterOption, ParameterValue } from '#space/types.ts';
import { findJointSpace } from '#study/analysis/settings.ts';
import type { StudyState } from '#study/records/state.ts';
import { listParameters, listSpaces, ofPart, type ShownParameter } from './parameters.ts';

/** A parameter of a candidate that is built by hand. */
export interface HandChoice extends ShownParameter {
  /** The index among the values that the other choices allow; -1 for the original config's own. */
  readonly chosen: number;
  /** False if the other choices leave it no effect. */
  readonly applies: boolean;
}

/**
 * Returns the possible choices, given those made so far, for the same parameters as
 * `listParameters`, in the same order.
 */
export function handChoices(study: StudyState, assignment: Assignment): readonly HandChoice[] {
  const shown = new Map(listParameters(study).map((each) => [each.parameter.name, each]));
  return listSpaces(study).flatMap((part) => {
    const scene = createScene(part.bound, ofPart(part, assignment));
    return part.bound.settings.flatMap((setting) => {
      const parameter = shown.get(`${part.prefix}${setting.parameter.name}`);
      return parameter ? [toChoice(parameter, optionsIn(setting, scene), assignment)] : [];
    });
  });
}

function toChoice(
  { parameter, values: all }: ShownParameter,
  options: readonly ParameterOption[],
  assignment: Assignment,
): HandChoice {
  const values = options.map(({ value }) => value);
  const ownValue = Object.hasOwn(assignment, parameter.name) ? assignment[parameter.name] : null;
  const chosen = values.findIndex((value) => canonicalJson(value) === canonicalJson(ownValue ?? null));
  return values.length > 0
    ? { parameter, values, chosen, applies: true }
    : { parameter, values: all, chosen: -1, applies: false };
}

/**
 * Returns the choices after moving the parameter of that row to its next or previous value, within
 * its ends.
 */
export function withNextValue(study: StudyState, assignment: Assignment, row: number, by: number): Assignment {
  const choice = handChoices(study, assignment)[row];
  if (!choice?.applies) return assignment;
  const { parameter, values, chosen } = choice;
  const first = values.includes(null) ? 0 : -1;
  const next = Math.max(first, Math.min(values.length - 1, chosen + by));
  const { [parameter.name]: _, ...rest } = assignment;
  return next < 0 ? rest : { ...rest, [parameter.name]: values[next] as ParameterValue };
}

/**
 * Returns the choices that count: of parameters that apply, with a possible value, in the space's
 * order.
 */
export function toAssignment(study: StudyState, chosen: Assignment): Assignment {
  const set = handChoices(study, chosen).filter((choice) => choice.applies && choice.chosen >= 0);
  return Object.fromEntries(
    set.map(({ parameter, values, chosen: at }) => [parameter.name, values[at] as ParameterValue]),
  );
}

/** The search space's verdict on a candidate by hand. */
export type CandidateVerdict =
  | { readonly legal: true; readonly candidate: Candidate; readonly note: string | null }
  | { readonly legal: false; readonly reason: string };

/** Returns whether the candidate is legal, and why not, or a note on a legal one. */
export function verdictOn(study: StudyState, chosen: Assignment): CandidateVerdict {
  const assignment = toAssignment(study, chosen);
  const built = buildIn(study, assignment);
  if (!built.legal) return built;
  const { fingerprint } = built.candidate;
  const isWaiting = study.requested.some(
    ({ assignment: other, levels }) => levels.kind === 'search' && canonicalJson(other) === canonicalJson(assignment),
  );
  if (isWaiting) return { legal: false, reason: 'this candidate is waiting already' };
  const twin = study.trials.find(({ candidate }) => candidate.fingerprint === fingerprint);
  const outside = whyRuledOut(study.narrowing, assignment);
  const note = twin
    ? `same as ${twin.number === 0 ? 'the original' : `trial ${twin.number}`}`
    : outside && `outside the narrowed search: ${outside}`;
  return { legal: true, candidate: built.candidate, note };
}

function buildIn(study: StudyState, assignment: Assignment): CandidateOutcome {
  const joint = findJointSpace(study.started);
  if (joint) return buildJoint(joint, assignment);
  const [part] = listSpaces(study);
  return part
    ? buildCandidate(part.bound.space, part.original, assignment)
    : { legal: false, reason: "the journal's search space cannot be read" };
}
