import type { CandidateShape } from '../space/types.ts';

/**
 * Returns all of a candidate but the number of instances and the batcher, as a text: candidates with the same key have the same
 * categorical settings, and so the same service law.
 */
export function settingsKeyOf({ rest, groups }: CandidateShape): string {
  return `${rest} ${placesOf(groups)}`;
}

/** Returns where the instances are placed, without their number. */
export function placesOf(groups: CandidateShape['groups']): string {
  return [...new Set(groups.map(({ place }) => place))].sort().join(' ');
}
