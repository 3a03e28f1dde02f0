import { canonicalJson } from '../base/json.ts';
import type { CandidateShape, InstanceGroupShape } from '../space/types.ts';

/**
 * Returns all of a candidate but the number of instances, the GPUs that have them, and the batcher, as a text: candidates with the same key have the same
 * categorical settings, and so the same service law.
 */
export function settingsKeyOf({ rest, groups }: CandidateShape): string {
  return `${rest} ${[...new Set(groups.map(placeOnAnyGpu))].sort().join(' ')}`;
}

/** Returns the place without the numbers of its GPUs, which are taken to be alike. */
const placeOnAnyGpu = ({ place, gpus }: InstanceGroupShape): string =>
  gpus === undefined ? place : place.replace(`"gpus":${canonicalJson([...gpus])}`, '"gpus":"any"');

/** Returns where the instances are placed, without their number. */
export function placesOf(groups: CandidateShape['groups']): string {
  return [...new Set(groups.map(({ place }) => place))].sort().join(' ');
}
