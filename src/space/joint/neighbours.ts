import { canonicalJson } from '#base/json.ts';
import { bindSpace } from '../bound-space.ts';
import { allowedOptions, type Narrowing } from '../narrowing.ts';
import { optionsFor } from '../options.ts';
import type { Assignment, ParameterValue } from '../types.ts';
import { buildJoint } from './build-joint.ts';
import { byMember, type JointMember, type JointSpace, joinAssignments } from './joint-space.ts';

/**
 * Returns the legal assignments that differ from this one in one parameter of one member, in the
 * order of members and parameters. A parameter that applies only with the new value gets the first
 * of its values; one that no longer applies is left out.
 */
export function* jointNeighbours(
  joint: JointSpace,
  assignment: Assignment,
  narrowing: Narrowing = {},
): Generator<Assignment> {
  const [parts, narrowings] = [byMember(joint, assignment), byMember(joint, narrowing)];
  for (const [index, member] of joint.members.entries()) {
    for (const part of memberNeighbours(member, parts[index] as Assignment, narrowings[index] as Narrowing)) {
      const neighbour = joinAssignments(joint, parts.with(index, part));
      if (buildJoint(joint, neighbour).legal) yield neighbour;
    }
  }
}

function* memberNeighbours(member: JointMember, assignment: Assignment, narrowing: Narrowing): Generator<Assignment> {
  const bound = bindSpace(member.space, member.original);
  for (const { name } of member.space.parameters) {
    for (const { value } of allowedOptions(narrowing, name, optionsFor(bound, name, assignment))) {
      if (Object.hasOwn(assignment, name) && same(assignment[name] as ParameterValue, value)) continue;
      const changed = followed(member, { ...assignment, [name]: value }, narrowing);
      if (changed !== null) yield changed;
    }
  }
}

/**
 * Returns the wanted values whose parameters apply; null if the narrowing leaves a parameter no
 * value.
 */
function followed({ space, original }: JointMember, assignment: Assignment, narrowing: Narrowing): Assignment | null {
  const bound = bindSpace(space, original);
  const chosen: Record<string, ParameterValue> = {};
  for (const { name } of space.parameters) {
    const possible = optionsFor(bound, name, chosen);
    if (possible.length === 0) continue;
    const options = allowedOptions(narrowing, name, possible);
    const kept = options.find(
      ({ value }) => Object.hasOwn(assignment, name) && same(assignment[name] as ParameterValue, value),
    );
    const option = kept ?? options[0];
    if (option === undefined) return null;
    chosen[name] = option.value;
  }
  return chosen;
}

const same = (a: ParameterValue, b: ParameterValue): boolean => canonicalJson(a) === canonicalJson(b);
