import { lookUp } from '#base/look-up.ts';
import type { CandidateShape } from '#space/types.ts';
import type { Trial } from '../types.ts';
import { perHistory } from './samplers/per-history.ts';

/**
 * Hypotheses of the memory of an instance of one model, relative to the others'; fewer if there are
 * many models.
 */
const WEIGHTS = [0.4, 1, 2.5];
const MAX_MODELS = 4;
/**
 * Hypotheses of the memory per place of a batch, as a multiple of the memory of an instance alone.
 */
const PER_PLACE = [0, 1 / 32];

type Members = NonNullable<CandidateShape['members']>;

/**
 * The memory that models need together by one hypothesis, and the needs that the limit lies
 * between.
 */
interface Limit {
  readonly need: (members: Members) => number;
  /** The largest need that loaded, and the smallest that was refused. */
  readonly most: number;
  readonly least: number;
}

/**
 * Returns the chance, 0 to 1, that models load together, given the loads that succeeded and those
 * that ran out of memory. An instance of each needs memory of its own, in an unknown ratio to the
 * others'. For every ratio that is consistent with the loads, the limit is uniform between the
 * largest need that loaded and the smallest that was refused; the chances are averaged. null if no
 * ratio is consistent, or no load was refused.
 */
export function jointLoadChance(members: Members, trials: readonly Trial[]): number | null {
  const limits = limitsIn(trials);
  if (limits.length === 0) return null;
  const chances = limits.map(({ need, most, least }) =>
    Math.min(1, Math.max(0, (least - need(members)) / (least - most))),
  );
  return chances.reduce((sum, each) => sum + each, 0) / chances.length;
}

const limitsIn = perHistory((trials): readonly Limit[] => {
  const listMembers = (some: readonly Trial[]): Members[] =>
    some.flatMap(({ candidate: { shape } }) => (shape.members ? [shape.members] : []));
  const refused = listMembers(trials.filter(({ failure }) => failure?.kind === 'out-of-memory'));
  const loaded = listMembers(trials.filter(({ measurements }) => measurements.length > 0));
  const [first] = refused;
  if (!first) return [];
  const models = Object.keys(first);
  return PER_PLACE.flatMap((perPlace) =>
    weightings(models.length).flatMap((weights) => {
      const need = (members: Members): number =>
        models.reduce((sum, model, index) => {
          const policy = lookUp(members, model)?.policy;
          const places = policy ? policy.instances * (1 + perPlace * Math.max(1, policy.maxBatchSize)) : 0;
          return sum + (weights[index] as number) * places;
        }, 0);
      const [most, least] = [Math.max(0, ...loaded.map(need)), Math.min(...refused.map(need))];
      return most < least ? [{ need, most, least }] : [];
    }),
  );
});

/** Returns all combinations of weights, the first model's being 1. */
function weightings(models: number): readonly (readonly number[])[] {
  if (models > MAX_MODELS) return [Array.from({ length: models }, () => 1)];
  let all: readonly (readonly number[])[] = [[1]];
  for (let model = 1; model < models; model++) all = all.flatMap((each) => WEIGHTS.map((weight) => [...each, weight]));
  return all;
}
