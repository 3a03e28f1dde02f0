import type { Figure } from '../../../perfmodel/correction.ts';
import type { Normal } from '../../../stats/gaussian-process.ts';
import { chanceBelow, expectedImprovement } from '../../../stats/normal.ts';

/** What a constraint asks of a figure, as a logarithm. */
export interface Limit {
  readonly figure: Figure;
  readonly value: number;
  readonly relation: '<=' | '>=';
}

/** Known figures have a width too, to divide by. */
const LEAST_SD = 1e-9;

/** Where the shared part may be, in its deviations, and how likely that is: a normal distribution in steps. */
const MOST_DEVIATIONS = 3;
const STEPS = 14;
const SHARED = sharedSteps();

function sharedSteps(): readonly { readonly deviations: number; readonly chance: number }[] {
  const places = Array.from({ length: STEPS + 1 }, (_, step) => MOST_DEVIATIONS * ((2 * step) / STEPS - 1));
  const densities = places.map((deviations) => Math.exp((-deviations * deviations) / 2));
  const total = densities.reduce((sum, density) => sum + density, 0);
  return places.map((deviations, index) => ({ deviations, chance: (densities[index] as number) / total }));
}

/** Each figure times its weight, summed: what they share adds up, the rest does so at random. */
export function weighted(parts: readonly { readonly figure: Figure; readonly weight: number }[]): Figure {
  const sum = (of: (figure: Figure) => number): number =>
    parts.reduce((total, { figure, weight }) => total + weight * of(figure), 0);
  const shared = sum((figure) => figure.shared);
  const own = parts.map(({ figure, weight }) => weight * ownPart(figure));
  return { mean: sum(({ mean }) => mean), sd: Math.hypot(shared, ...own), shared };
}

const ownPart = ({ sd, shared }: Figure): number => Math.sqrt(Math.max(0, sd ** 2 - shared ** 2));

/** That all limits are kept, with all uncertainty `inflation` times as large. */
export const chanceOfKeeping = (limits: readonly Limit[], inflation: number): number =>
  chanceOfAll(limits, (figure) => widened(figure, inflation));

/**
 * By how much a cost is below `best` on average, counting nothing where it is above or a limit is broken. A candidate that only a law that is
 * wrong could let within its budget would then be fast as well: taken apart, its chance and its gain would promise far less.
 */
export function expectedGain(cost: Figure, limits: readonly Limit[], best: number, inflation: number): number {
  return SHARED.reduce((sum, { deviations, chance }) => {
    const known = (figure: Figure): Normal => given(figure, deviations, inflation);
    return sum + chance * chanceOfAll(limits, known) * expectedImprovement(known(cost), best);
  }, 0);
}

const widened = ({ mean, sd }: Normal, inflation: number): Normal => ({ mean, sd: Math.max(LEAST_SD, sd * inflation) });

/** With the shared part known. */
function given(figure: Figure, deviations: number, inflation: number): Normal {
  const mean = figure.mean + figure.shared * inflation * deviations;
  return widened({ mean, sd: ownPart(figure) }, inflation);
}

const chanceOfAll = (limits: readonly Limit[], at: (figure: Figure) => Normal): number =>
  limits.reduce((chance, { figure, value, relation }) => {
    const { mean, sd } = at(figure);
    const below = chanceBelow((value - mean) / sd);
    return chance * (relation === '<=' ? below : 1 - below);
  }, 1);
