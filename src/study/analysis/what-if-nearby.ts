import { allBindings, bindSpace } from '#space/bound-space.ts';
import { buildCandidate } from '#space/candidate.ts';
import { assignments } from '#space/enumerate.ts';
import { buildJoint } from '#space/joint/build-joint.ts';
import { jointAssignments, jointSize } from '#space/joint/enumerate-joint.ts';
import type { JointSpace } from '#space/joint/joint-space.ts';
import { jointNeighbours } from '#space/joint/neighbours.ts';
import type { Assignment, Candidate, CandidateOutcome, SearchSpace } from '#space/types.ts';
import type { StudyStarted } from '../records/records.ts';
import { pruneReason } from '../search/pruning.ts';
import type { Trial } from '../types.ts';
import { findJointSpace, findSpace } from './settings.ts';

/**
 * Returns the legal configs that are worth predicting, each once, the best's first: those that were
 * tried, then the whole space if it is small enough, else the configs that differ from the best in
 * one or two parameters. Configs that failed, or are known to fail, are left out.
 */
export function nearby(
  started: StudyStarted,
  best: Candidate,
  trials: readonly Trial[],
  most: number,
): readonly Candidate[] {
  const tried = trials
    .filter((trial) => trial.measurements.length > 0 && trial.failure === null)
    .map(({ candidate }) => candidate);
  const failed = new Set(
    trials.filter((trial) => trial.failure !== null).map(({ candidate }) => candidate.fingerprint),
  );
  const candidates = new Map([best, ...tried].slice(0, most).map((candidate) => [candidate.fingerprint, candidate]));
  const around = findAround(started);
  for (const assignment of around?.assignments(best.assignment, most) ?? []) {
    if (candidates.size >= most) break;
    const outcome = (around as Around).build(assignment);
    if (!outcome.legal) continue;
    const { fingerprint } = outcome.candidate;
    if (candidates.has(fingerprint) || failed.has(fingerprint) || pruneReason(outcome.candidate, trials)) continue;
    candidates.set(fingerprint, outcome.candidate);
  }
  return [...candidates.values()];
}

/** The part of a search space around an assignment. */
interface Around {
  assignments(best: Assignment, most: number): Iterable<Assignment>;
  build(assignment: Assignment): CandidateOutcome;
}

function findAround(started: StudyStarted): Around | null {
  const { original } = started;
  const joint = findJointSpace(started);
  if (joint) {
    return {
      assignments: (best, most) => jointlyAround(joint, best, most),
      build: (assignment) => buildJoint(joint, assignment),
    };
  }
  const space = findSpace(started);
  return (
    space && {
      assignments: (best, most) => assignmentsAround(space, original, best, most),
      build: (assignment) => buildCandidate(space, original, assignment),
    }
  );
}

/**
 * The whole space if it is small enough; otherwise the configs that differ from the best in one
 * parameter of one model, then also in one of another model.
 */
function* jointlyAround(joint: JointSpace, best: Assignment, most: number): Generator<Assignment> {
  if (jointSize(joint) <= most) {
    yield* jointAssignments(joint);
    return;
  }
  const one = [...jointNeighbours(joint, completed(joint, best))];
  yield* one;
  for (const assignment of one) yield* jointNeighbours(joint, assignment);
}

/** The best may be the original, which sets nothing: then start from the original's values. */
const completed = (joint: JointSpace, best: Assignment): Assignment => {
  if (Object.keys(best).length > 0) return best;
  const [first = best] = jointAssignments(joint);
  return first;
};

/** The largest space, in combinations, that is enumerated whole. */
const LARGEST_WHOLE = 20_000;

function* assignmentsAround(
  space: SearchSpace,
  original: Candidate,
  best: Assignment,
  most: number,
): Generator<Assignment> {
  const choices = listChoices(space, original);
  const combinations = choices.reduce((product, { values }) => product * (values.length + 1), 1);
  if (combinations <= LARGEST_WHOLE) {
    const whole: Assignment[] = [];
    for (const assignment of assignments(space, original)) if (whole.push(assignment) > most) break;
    if (whole.length <= most) {
      yield* whole;
      return;
    }
  }
  for (const { name, values } of choices) for (const value of values) yield { ...best, [name]: value };
  for (const [index, one] of choices.entries()) {
    for (const other of choices.slice(index + 1)) {
      for (const a of one.values) for (const b of other.values) yield { ...best, [one.name]: a, [other.name]: b };
    }
  }
}

function listChoices(space: SearchSpace, original: Candidate) {
  const bindings = allBindings(bindSpace(space, original));
  return space.parameters.map(({ name }) => {
    const cases = bindings.flatMap(({ byName }) => byName.get(name)?.cases ?? []);
    return { name, values: [...new Set(cases.flatMap(({ options }) => options.map(({ value }) => value)))] };
  });
}
