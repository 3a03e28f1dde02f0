import { seededRandom } from '#base/random.ts';
import { type Choice, toChoice } from '#perfmodel/modelled-config.ts';
import type { ServiceModel } from '#perfmodel/service-model.ts';
import type { DeviceMetrics } from '#profiler/server-figures.ts';
import type { Candidate } from '#space/types.ts';
import type { Goal, LevelRange } from '../../types.ts';
import type { SpaceView } from '../samplers/space-view.ts';
import { memoizeByIdentity } from './memoize.ts';
import { byBound } from './screen.ts';

/**
 * Candidates of a joint space that are simulated at coarse levels for one proposal: the best of a
 * sample by a bound, and some of it at random.
 */
const MAX_BY_BOUND = 14;
const MAX_AT_RANDOM = 4;

/**
 * Returns the legal choices that differ from one in one parameter of one member; for joint spaces.
 */
export type NeighboursOf = (choice: Choice) => readonly Choice[];

/** Returns the legal neighbours of a candidate in a space that knows them. */
export const listNeighbours = (space: SpaceView, { assignment }: Candidate): readonly Candidate[] =>
  [...(space.neighbours?.(assignment) ?? [])].flatMap((each) => {
    const outcome = space.build(each);
    return outcome.legal ? [outcome.candidate] : [];
  });

/** The same as choices; memoized by choice, because every proposal asks for each. */
export const neighboursIn = (space: SpaceView): NeighboursOf =>
  memoizeByIdentity(({ candidate }: Choice) => listNeighbours(space, candidate).map(toChoice));

/** The context in which candidates are chosen. `seed`: another one for each proposal. */
interface JointOptions {
  readonly seed: number;
  readonly goal: Goal;
  readonly levels: LevelRange;
  readonly device?: DeviceMetrics;
}

/**
 * Returns the candidates of a joint space to simulate first: the best of the sample by a bound on
 * their throughput, and some at random. Climbs add their neighbours (`local-search.ts`).
 */
export function jointCandidates(
  sample: readonly Choice[],
  serviceModel: ServiceModel,
  { seed, goal, levels, device }: JointOptions,
): readonly Choice[] {
  const random = seededRandom(seed);
  const bounded = byBound(sample, serviceModel, goal, levels, device);
  const rest = bounded.slice(MAX_BY_BOUND);
  const drawn =
    rest.length === 0
      ? []
      : Array.from({ length: MAX_AT_RANDOM }, () => rest[random.int(0, rest.length - 1)] as Choice);
  return [...new Map([...bounded.slice(0, MAX_BY_BOUND), ...drawn].map((choice) => [choice.key, choice])).values()];
}
