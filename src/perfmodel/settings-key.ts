import { canonicalJson } from '#base/json.ts';
import type { CandidateShape, InstanceGroupShape } from '#space/types.ts';

/**
 * Returns a candidate's content except the number of instances, their GPUs, and the batcher, as
 * text: candidates with the same key have the same categorical settings, and so the same service
 * law.
 */
export function toSettingsKey({ rest, groups }: CandidateShape): string {
  return `${rest} ${[...new Set(groups.map(placeOnAnyGpu))].sort().join(' ')}`;
}

/** Returns the place without the numbers of its GPUs, which are assumed to be alike. */
const placeOnAnyGpu = ({ place, gpus }: InstanceGroupShape): string =>
  gpus === undefined ? place : place.replace(`"gpus":${canonicalJson([...gpus])}`, '"gpus":"any"');

/** Returns the places of the instances, without their number. */
export function listPlaces(groups: CandidateShape['groups']): string {
  return [...new Set(groups.map(({ place }) => place))].sort().join(' ');
}
