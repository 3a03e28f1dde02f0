import { hasVariants } from '#adapter/variants/known-builds.ts';
import type { JsonObject } from '#base/json.ts';
import { describeGroups, describeRules, describeSpace, expensiveParameters } from '#space/describe.ts';
import { spaceSize } from '#space/enumerate.ts';
import { jointToJson } from '#space/joint/definition.ts';
import { jointSize, mostJointPlaces } from '#space/joint/enumerate-joint.ts';
import { type JointSpace, jointName } from '#space/joint/joint-space.ts';
import { mostPlaces } from '#space/most-places.ts';
import type { Narrowing } from '#space/narrowing.ts';
import { spaceToJson } from '#space/source/load.ts';
import type { Candidate, SearchSpace } from '#space/types.ts';
import { jointSpaceView } from '#study/search/samplers/joint-space-view.ts';
import { type SpaceView, viewSpace } from '#study/search/samplers/space-view.ts';

/** The space of a study on a Triton: of one model, or of several together. */
export interface TunedSpace {
  readonly original: Candidate;
  /** The definition for the journal. */
  readonly definition: JsonObject;
  /** The number of legal assignments; Infinity if there are too many to count. */
  readonly size: number;
  /** The most samples that a candidate executes at once. */
  readonly places: number;
  /** True if candidates may be served from other files. */
  readonly hasVariants: boolean;
  /** Parameters that take a long load to change. */
  readonly slowParameters: readonly string[];
  view(narrowing?: Narrowing): SpaceView;
  /** What becomes of instance groups that the space sets only in part, a line for each model. */
  readonly groupNotes: readonly string[];
  /** Returns a description in lines for a terminal. */
  describe(): string;
}

export const spaceOfOne = (space: SearchSpace, original: Candidate): TunedSpace => ({
  original,
  definition: spaceToJson(space),
  size: spaceSize(space, original),
  places: mostPlaces(space, original),
  hasVariants: hasVariants(space),
  slowParameters: expensiveParameters(space, original),
  groupNotes: describeGroups(space, original),
  view: (narrowing) => viewSpace(space, original, narrowing),
  describe: () => describeSpace(space, original),
});

export const spaceOfSeveral = (joint: JointSpace): TunedSpace => ({
  original: joint.original,
  definition: jointToJson(joint),
  size: jointSize(joint),
  places: mostJointPlaces(joint),
  hasVariants: false,
  slowParameters: joint.members.flatMap(({ model, space, original }) =>
    expensiveParameters(space, original).map((name) => jointName(model, name)),
  ),
  groupNotes: joint.members.flatMap(({ space, original }) => describeGroups(space, original)),
  view: (narrowing) => jointSpaceView(joint, narrowing),
  describe: () =>
    [
      ...joint.members.map(({ space, original }) => describeSpace(space, original)),
      describeRules('rules over several models:', joint.across).join('\n'),
    ]
      .filter((part) => part !== '')
      .join('\n\n'),
});
