import type { LogFigure } from '#perfmodel/correction.ts';
import type { Normal } from '#stats/gaussian-process.ts';
import { chanceBelow, expectedImprovement } from '#stats/normal.ts';

/**
 * The effect of a function with steps on a figure; both are logarithms. An example is a cost with
 * whole replicas, as a function of throughput.
 */
export interface Stepped {
  readonly figure: LogFigure;
  readonly of: (logarithm: number) => number;
}

/** A weighted sum of logarithms: a figure, and a part with steps. */
export interface Cost {
  readonly linear: LogFigure;
  readonly stepped: readonly (Stepped & { readonly weight: number })[];
}

/** A constraint on a figure; all are logarithms. */
export interface FigureConstraint {
  readonly figure: LogFigure;
  /** The constrained metric, if it follows from the figure with steps. */
  readonly of?: Stepped['of'] | undefined;
  readonly value: number;
  readonly relation: '<=' | '>=';
}

/** The standard deviation of an exactly known figure, so that it can be a divisor. */
const MIN_SD = 1e-9;

/**
 * The quadrature over the shared part: a standard normal distribution from −3 to 3 deviations in 14
 * steps.
 */
const MAX_DEVIATIONS = 3;
const STEPS = 14;
const SHARED = normalSteps(STEPS);
/**
 * The same over a figure's own part, if steps leave no formula: eight steps give a chance to a few
 * per cent.
 */
const OWN = normalSteps(8);

function normalSteps(steps: number): readonly { readonly deviations: number; readonly chance: number }[] {
  const places = Array.from({ length: steps + 1 }, (_, step) => MAX_DEVIATIONS * ((2 * step) / steps - 1));
  const densities = places.map((deviations) => Math.exp((-deviations * deviations) / 2));
  const total = densities.reduce((sum, density) => sum + density, 0);
  return places.map((deviations, index) => ({ deviations, chance: (densities[index] as number) / total }));
}

/**
 * Returns the weighted sum of figures. Their shared parts add up linearly, their own parts in
 * quadrature.
 */
export function weighted(parts: readonly { readonly figure: LogFigure; readonly weight: number }[]): LogFigure {
  const sum = (of: (figure: LogFigure) => number): number =>
    parts.reduce((total, { figure, weight }) => total + weight * of(figure), 0);
  const shared = sum((figure) => figure.shared);
  const figures = parts.map(({ figure, weight }) => weight * ownPart(figure));
  return { mean: sum(({ mean }) => mean), sd: Math.hypot(shared, ...figures), shared };
}

const ownPart = ({ sd, shared }: LogFigure): number => Math.sqrt(Math.max(0, sd ** 2 - shared ** 2));

/**
 * Returns the probability that all limits are met, with every standard deviation multiplied by
 * `inflation`.
 */
export const feasibleChance = (limits: readonly FigureConstraint[], inflation: number): number =>
  chanceOfAll(limits, (figure) => widened(figure, inflation));

/**
 * Returns the expected improvement of a cost over `best` where all limits are met (constrained
 * expected improvement: Schonlau, Welch and Jones, 1998), with every standard deviation multiplied
 * by `inflation`. Cost and limits are correlated through their shared part, and the product is
 * integrated over it: where executions are faster than predicted, throughput is higher and latency
 * is lower at once. The product of the two marginals would be far lower.
 */
export function constrainedImprovement(
  cost: Cost,
  limits: readonly FigureConstraint[],
  best: number,
  inflation: number,
): number {
  return SHARED.reduce((sum, { deviations, chance }) => {
    const known = (figure: LogFigure): Normal => conditioned(figure, deviations, inflation);
    return sum + chance * chanceOfAll(limits, known) * computeImprovement(cost, known, best);
  }, 0);
}

/**
 * Returns the probability that a cost is below `most` where all limits are met, with every standard
 * deviation multiplied by `inflation`. Cost and limits are correlated as in
 * `constrainedImprovement`.
 */
export function cheaperChance(
  cost: Cost,
  limits: readonly FigureConstraint[],
  most: number,
  inflation: number,
): number {
  return SHARED.reduce((sum, { deviations, chance }) => {
    const known = (figure: LogFigure): Normal => conditioned(figure, deviations, inflation);
    return sum + chance * chanceOfAll(limits, known) * computeCheaperChance(cost, known, most);
  }, 0);
}

/** Returns the probability that a cost is below `most`, known up to the figures' own parts. */
function computeCheaperChance(cost: Cost, at: (figure: LogFigure) => Normal, most: number): number {
  const { mean, sd } = at(cost.linear);
  if (cost.stepped.length === 0) return chanceBelow((most - mean) / sd);
  return OWN.reduce(
    (sum, { deviations, chance }) => sum + chance * chanceBelow((most - steppedAt(cost, at, deviations) - mean) / sd),
    0,
  );
}

/**
 * Returns the mean and standard deviation of a cost. The part with steps is assumed to be off in
 * the same direction.
 */
export function computeMoments(cost: Cost): Normal {
  if (cost.stepped.length === 0) return cost.linear;
  const known = (figure: LogFigure): Normal => widened(figure, 1);
  const values = OWN.map(({ deviations, chance }) => ({ chance, value: steppedAt(cost, known, deviations) }));
  const mean = values.reduce((sum, { chance, value }) => sum + chance * value, 0);
  const variance = values.reduce((sum, { chance, value }) => sum + chance * (value - mean) ** 2, 0);
  return { mean: cost.linear.mean + mean, sd: Math.hypot(cost.linear.sd, Math.sqrt(variance)) };
}

/** Returns the expected improvement of a cost whose figures are known up to their own parts. */
function computeImprovement(cost: Cost, at: (figure: LogFigure) => Normal, best: number): number {
  const linear = at(cost.linear);
  if (cost.stepped.length === 0) return expectedImprovement(linear, best);
  return OWN.reduce(
    (sum, { deviations, chance }) => sum + chance * expectedImprovement(linear, best - steppedAt(cost, at, deviations)),
    0,
  );
}

const steppedAt = ({ stepped }: Cost, at: (figure: LogFigure) => Normal, deviations: number): number =>
  stepped.reduce((sum, { figure, of, weight }) => {
    const { mean, sd } = at(figure);
    return sum + weight * of(mean + deviations * sd);
  }, 0);

const widened = ({ mean, sd }: Normal, inflation: number): Normal => ({ mean, sd: Math.max(MIN_SD, sd * inflation) });

/** Conditions a figure on the shared part. */
function conditioned(figure: LogFigure, deviations: number, inflation: number): Normal {
  const mean = figure.mean + figure.shared * inflation * deviations;
  return widened({ mean, sd: ownPart(figure) }, inflation);
}

const chanceOfAll = (limits: readonly FigureConstraint[], at: (figure: LogFigure) => Normal): number =>
  limits.reduce((chance, { figure, of, value, relation }) => {
    const { mean, sd } = at(figure);
    const below = of
      ? OWN.reduce((sum, each) => sum + (of(mean + each.deviations * sd) <= value ? each.chance : 0), 0)
      : chanceBelow((value - mean) / sd);
    return chance * (relation === '<=' ? below : 1 - below);
  }, 1);
