import { TrituneError } from '#base/errors.ts';
import type { Random } from '#base/random.ts';
import { completeAssignment } from '../complete.ts';
import { assignments, countLimit, sampleAssignment, spaceSize } from '../enumerate.ts';
import { mostPlaces } from '../most-places.ts';
import type { Narrowing } from '../narrowing.ts';
import type { Assignment } from '../types.ts';
import { buildJoint } from './build-joint.ts';
import { byMember, type JointMember, type JointSpace, joinAssignments } from './joint-space.ts';

/**
 * Yields every legal assignment of the joint space: each of one member's with each of the others'
 * that the rules allow, the last member's fastest. They are generated on demand, because there may
 * be too many to list.
 */
export function* jointAssignments(joint: JointSpace, narrowing: Narrowing = {}): Generator<Assignment> {
  for (const assignment of combinations(joint, narrowing)) if (keepsRules(joint, assignment)) yield assignment;
}

/** The same without checking the rules over several members. */
function combinations(joint: JointSpace, narrowing: Narrowing): Generator<Assignment> {
  const narrowings = byMember(joint, narrowing);
  const lists = joint.members.map(
    ({ space, original }, index) => new GrowingList(assignments(space, original, narrowings[index])),
  );
  return product(lists, [], (parts) => joinAssignments(joint, parts));
}

/** True if an assignment of legal parts is legal as a whole. */
const keepsRules = (joint: JointSpace, assignment: Assignment): boolean =>
  joint.across.rules.length === 0 || buildJoint(joint, assignment).legal;

function* product(
  lists: readonly GrowingList[],
  chosen: readonly Assignment[],
  join: (parts: readonly Assignment[]) => Assignment,
): Generator<Assignment> {
  const list = lists[chosen.length];
  if (list === undefined) yield join(chosen);
  else for (const part of list.items()) yield* product(lists, [...chosen, part], join);
}

/**
 * The items of a generator, listed up to the last one read: inner members are repeated for each of
 * the outer ones.
 */
class GrowingList {
  readonly #listed: Assignment[] = [];
  readonly #rest: Iterator<Assignment>;

  constructor(rest: Iterator<Assignment>) {
    this.#rest = rest;
  }

  *items(): Generator<Assignment> {
    for (let index = 0; ; index += 1) {
      if (index === this.#listed.length) {
        const next = this.#rest.next();
        if (next.done === true) return;
        this.#listed.push(next.value);
      }
      yield this.#listed[index] as Assignment;
    }
  }
}

/**
 * Returns the number of assignments that are legal and not ruled out; Infinity if a member has more
 * than are counted, or there are too many to check against the rules.
 */
export function jointSize(joint: JointSpace, narrowing: Narrowing = {}): number {
  const narrowings = byMember(joint, narrowing);
  const sizes = joint.members.map(({ space, original }, index) => spaceSize(space, original, narrowings[index]));
  const size = sizes.includes(0) ? 0 : sizes.reduce((product, size) => product * size, 1);
  if (joint.across.rules.length === 0) return size;
  if (size > countLimit) return Number.POSITIVE_INFINITY;
  return [...jointAssignments(joint, narrowing)].length;
}

/**
 * Returns one legal assignment, each with the same chance. Leaves out those that the narrowing
 * rules out. Errors: SPACE_INVALID when none is found.
 */
export function sampleJoint(joint: JointSpace, random: Random, narrowing: Narrowing = {}): Assignment {
  const narrowings = byMember(joint, narrowing);
  const draw = ({ space, original }: JointMember, index: number): Assignment =>
    sampleAssignment(space, original, random, narrowings[index]);
  for (let drawn = 0; drawn < DRAW_LIMIT; drawn += 1) {
    const assignment = joinAssignments(joint, joint.members.map(draw));
    if (keepsRules(joint, assignment)) return assignment;
  }
  let seen = 0;
  for (const assignment of combinations(joint, narrowing)) {
    if (keepsRules(joint, assignment)) return assignment;
    seen += 1;
    if (seen > countLimit) break;
  }
  throw new TrituneError(
    'SPACE_INVALID',
    'no combination of candidates keeps the rules over all models',
    'relax the rules next to members in the search space',
  );
}

/** The number of draws that may break a rule before all assignments of the space are tried. */
const DRAW_LIMIT = 5_000;

/** `completeAssignment` member by member; null if the narrowing leaves a parameter no value. */
export function completeJoint(
  joint: JointSpace,
  assignment: Assignment,
  random: Random,
  narrowing: Narrowing = {},
): Assignment | null {
  const [parts, narrowings] = [byMember(joint, assignment), byMember(joint, narrowing)];
  const completed: Assignment[] = [];
  for (const [index, { space, original }] of joint.members.entries()) {
    const part = completeAssignment(space, original, parts[index] as Assignment, random, narrowings[index]);
    if (part === null) return null;
    completed.push(part);
  }
  return joinAssignments(joint, completed);
}

/** Returns the most samples that a candidate can execute at once, in all members together. */
export const mostJointPlaces = ({ members }: JointSpace): number =>
  members.reduce((places, { space, original }) => places + mostPlaces(space, original), 0);
