import { buildJoint, expectedMemberTime } from '#space/joint/build-joint.ts';
import { completeJoint, jointAssignments, sampleJoint } from '#space/joint/enumerate-joint.ts';
import { type JointSpace, jointName } from '#space/joint/joint-space.ts';
import { jointNeighbours } from '#space/joint/neighbours.ts';
import { type Narrowing, whyRuledOut } from '#space/narrowing.ts';
import type { Candidate } from '#space/types.ts';
import { type SpaceView, slowLoads } from './space-view.ts';

/**
 * Returns the joint space without what the narrowing rules out; names are `MODEL/parameter` in
 * assignments and in the narrowing. Errors of its `sample`: SPACE_INVALID when nothing is left.
 */
export function jointSpaceView(joint: JointSpace, narrowing: Narrowing = {}): SpaceView {
  const hasExpectations = joint.members.some(({ space }) => space.parameters.some(({ expects }) => expects.size > 0));
  return {
    assignments: () => jointAssignments(joint, narrowing),
    sample: (random) => sampleJoint(joint, random, narrowing),
    complete: (assignment, random) => completeJoint(joint, assignment, random, narrowing),
    build: (assignment) => {
      const reason = whyRuledOut(narrowing, assignment);
      return reason === null ? buildJoint(joint, assignment) : { legal: false, reason };
    },
    neighbours: (assignment) => jointNeighbours(joint, assignment, narrowing),
    slowLoads: joint.members.flatMap(({ model, space, original }) =>
      slowLoads(space, original).map((name) => jointName(model, name)),
    ),
    ...(hasExpectations && {
      expectedTime: (candidate: Candidate, model?: string) =>
        expectedMemberTime(joint, candidate, model ?? joint.front),
    }),
  };
}
