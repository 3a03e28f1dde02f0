import { distanceBetween, toPlace } from '../places.ts';
import type { TokenObservation } from './observed-traffic.ts';

/**
 * Returns the first observation and those that differ most from the ones before, at most `most` of
 * them, in the order in which they were picked: a few that are far apart in all knobs and levels
 * tell more of a law than as many alike (Kennard and Stone, Technometrics 11, 1969).
 */
export function farApart(observations: readonly TokenObservation[], most: number): readonly TokenObservation[] {
  if (observations.length <= most) return observations;
  const left = observations.map((observation) => ({
    observation,
    place: toPlace(observation.choice, observation.measurement.level.value, 0),
    distance: Number.POSITIVE_INFINITY,
  }));
  return Array.from({ length: most }, () => {
    const next = left.reduce((farthest, each) => (each.distance > farthest.distance ? each : farthest));
    for (const each of left) each.distance = Math.min(each.distance, distanceBetween(each.place, next.place, 1));
    next.distance = -1;
    return next.observation;
  });
}
