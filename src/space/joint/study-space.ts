import type { JsonObject } from '../../base/json.ts';
import { type BoundSpace, bindSpace } from '../bound-space.ts';
import { buildCandidate } from '../candidate.ts';
import { spaceSize } from '../enumerate.ts';
import type { Narrowing } from '../narrowing.ts';
import { spaceFromJson } from '../source/load.ts';
import type { Assignment, Candidate, CandidateOutcome } from '../types.ts';
import { buildJoint } from './build-joint.ts';
import { isJointJson, jointFromJson } from './definition.ts';
import { byMember } from './joint-space.ts';

/** A study's search space as its journal has it: of one model, or of several together. */
export interface StudySpace {
  readonly members: readonly StudyMember[];
  build(assignment: Assignment): CandidateOutcome;
  /** How many assignments are left; Infinity where a model has more than `limit` combinations. */
  size(narrowing: Narrowing, limit?: number): number;
  /** Returns what an assignment says of each member, under its own parameters' names. */
  parts(assignment: Assignment): readonly Assignment[];
}

export interface StudyMember {
  readonly bound: BoundSpace;
  /** Stands before the names of its parameters in assignments: `encoder/`, or nothing for a model alone. */
  readonly prefix: string;
}

/** Reads the space over a study's original. `front`: the model that clients send to. Errors: SPACE_INVALID. */
export function readStudySpace(json: JsonObject, original: Candidate, front: string): StudySpace {
  if (!isJointJson(json)) {
    const space = spaceFromJson(json);
    return {
      members: [{ bound: bindSpace(space, original), prefix: '' }],
      build: (assignment) => buildCandidate(space, original, assignment),
      size: (narrowing, limit) => spaceSize(space, original, narrowing, limit),
      parts: (assignment) => [assignment],
    };
  }
  const joint = jointFromJson(json, original, front);
  const sizes = (narrowing: Narrowing, limit?: number): readonly number[] => {
    const narrowings = byMember(joint, narrowing);
    return joint.members.map(({ space, original: own }, index) => spaceSize(space, own, narrowings[index], limit));
  };
  return {
    members: joint.members.map(({ model, space, original: own }) => ({
      bound: bindSpace(space, own),
      prefix: `${model}/`,
    })),
    build: (assignment) => buildJoint(joint, assignment),
    size: (narrowing, limit) =>
      sizes(narrowing, limit).reduce((product, size) => (product === 0 || size === 0 ? 0 : product * size), 1),
    parts: (assignment) => byMember(joint, assignment),
  };
}
