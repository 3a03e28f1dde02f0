import type { Unknowns } from './model.ts';
import type { AloneRow } from './row.ts';

/** A fitted figure with the range of values whose likelihood is within 95 % of the best. */
export type FittedFigure = { readonly value: number; readonly low: number; readonly high: number };

export type Estimates = { readonly [K in keyof Unknowns]: FittedFigure };

type Tried = { readonly unknowns: Unknowns; readonly loss: number };

/** Values to try for each figure. A figure that a table cannot determine keeps its usual value. */
const TRIED = {
  scale: [0.95, 1, 1.05, 1.1, 1.16],
  frontEndMs: [0.005, 0.015, 0.03, 0.05, 0.08, 0.12, 0.18, 0.25],
  perInstance: [0, 0.2, 0.4, 0.7, 1],
  perSampleShare: [0, 0.03, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1],
  stepShare: [0, 1 / 3, 2 / 3, 1],
} as const;

/**
 * The prior cost of an additional sample, as a share of the mean: the first one costs more than the
 * others.
 */
const USUAL_PER_SAMPLE_SHARE = 0.2;
const INTERFERENCES_TO_START_FROM = [0.2, 0.7, 1];
const ROUNDS = 2;
/**
 * A start whose loss exceeds the least by this after one round is dropped: another round does not
 * compensate for it, and it hardly counts in the mean.
 */
const HOPELESS_LOSS = 5;
/** The prior standard deviation of the ratio of executions under traffic to lone ones. */
const USUAL_SCALE_SPREAD = 0.05;
const SCALE_PRIOR_WEIGHT = 0.1;
/**
 * The rise of the negative log-likelihood over its minimum that bounds the 95 % confidence region.
 */
const LOSS_AT_95_PERCENT = 1.92;

/**
 * Runs coordinate searches from every plausible way of sharing the device, and returns their mean
 * weighted by likelihood: a few rows rarely decide between them, and intermediate values have a
 * smaller error than the likeliest. `alone`: at least one row; `computeLoss`: a negative
 * log-likelihood.
 */
export function searchUnknowns(
  alone: readonly AloneRow[],
  { instances, maxBatchSize }: { readonly instances: number; readonly maxBatchSize: number },
  computeLoss: (unknowns: Unknowns) => number,
): Estimates {
  const search = new Search((unknowns) => computeLoss(unknowns) + computeSurprise(unknowns));
  const improve = ({ unknowns }: Tried): Tried => search.improve(unknowns, listKeys(unknowns, alone, maxBatchSize));
  let fits = chooseStarts(alone, instances).map((start) => improve(search.try(start)));
  for (let round = 1; round < ROUNDS; round++) {
    const { loss } = findBest(fits);
    fits = fits.map((each) => (each.loss <= loss + HOPELESS_LOSS ? improve(each) : each));
  }
  const { atOnce } = findBest(fits).unknowns;
  return search.estimatesAround(computeMean(fits.filter(({ unknowns }) => unknowns.atOnce === atOnce)));
}

const findBest = (fits: readonly Tried[]): Tried => fits.reduce((one, other) => (other.loss < one.loss ? other : one));

/** Returns the prior of a server without traffic. */
export function usualUnknowns(alone: readonly AloneRow[], instances: number): Unknowns {
  return {
    atOnce: instances,
    stepShare: 0,
    perInstance: 0,
    perSampleShare: lastSlope(alone),
    frontEndMs: 0.03,
    scale: 1,
  };
}

function chooseStarts(alone: readonly AloneRow[], instances: number): Unknowns[] {
  const hasGaps = alone.some((row, index) => row.batchSize > (alone[index - 1]?.batchSize ?? row.batchSize) + 1);
  return [...new Set([instances, 1])].flatMap((atOnce) =>
    (hasGaps ? TRIED.stepShare : [0]).flatMap((stepShare) =>
      (atOnce > 1 ? INTERFERENCES_TO_START_FROM : [0]).map((perInstance) => ({
        ...usualUnknowns(alone, instances),
        atOnce,
        stepShare,
        perInstance,
      })),
    ),
  );
}

/**
 * Returns the figures that can be determined: the slope beyond the timed sizes if batches may be
 * larger, and interference if there is any.
 */
function listKeys({ atOnce }: Unknowns, alone: readonly AloneRow[], maxBatchSize: number): (keyof typeof TRIED)[] {
  const beyond = (alone.at(-1) as AloneRow).batchSize < maxBatchSize;
  return [
    ...(beyond ? (['perSampleShare'] as const) : []),
    ...(atOnce > 1 ? (['perInstance'] as const) : []),
    'frontEndMs',
    'scale',
  ];
}

const computeSurprise = ({ scale }: Unknowns): number =>
  SCALE_PRIOR_WEIGHT * (Math.log(scale) / USUAL_SCALE_SPREAD) ** 2;

/** Keeps all tried values, for the confidence intervals. */
class Search {
  readonly #computeLoss: (unknowns: Unknowns) => number;
  readonly #tried = new Map<string, Tried>();

  constructor(computeLoss: (unknowns: Unknowns) => number) {
    this.#computeLoss = computeLoss;
  }

  /** Returns the best result of a coordinate search. */
  improve(start: Unknowns, keys: readonly (keyof typeof TRIED)[]): Tried {
    let best = this.try(start);
    for (const key of keys) {
      for (const value of TRIED[key]) {
        const next = this.try({ ...best.unknowns, [key]: value });
        if (next.loss < best.loss) best = next;
      }
    }
    return best;
  }

  /**
   * Returns the smallest and the largest value of each figure among results nearly as likely as the
   * best.
   */
  estimatesAround(best: Unknowns): Estimates {
    const tried = [...this.#tried.values()];
    const least = Math.min(...tried.map(({ loss }) => loss));
    const good = [best, ...tried.filter(({ loss }) => loss <= least + LOSS_AT_95_PERCENT).map((each) => each.unknowns)];
    const estimate = (key: keyof Unknowns): FittedFigure => {
      const values = good.map((each) => each[key]);
      return { value: best[key], low: Math.min(...values), high: Math.max(...values) };
    };
    return {
      atOnce: estimate('atOnce'),
      stepShare: estimate('stepShare'),
      perInstance: estimate('perInstance'),
      perSampleShare: estimate('perSampleShare'),
      frontEndMs: estimate('frontEndMs'),
      scale: estimate('scale'),
    };
  }

  try(unknowns: Unknowns): Tried {
    const { atOnce, stepShare, perInstance, perSampleShare, frontEndMs, scale } = unknowns;
    const key = [atOnce, stepShare, perInstance, perSampleShare, frontEndMs, scale].join();
    const known = this.#tried.get(key) ?? { unknowns, loss: this.#computeLoss(unknowns) };
    this.#tried.set(key, known);
    return known;
  }
}

function computeMean(fits: readonly Tried[]): Unknowns {
  const weights = computeWeights(fits);
  const mean = (key: keyof Unknowns): number =>
    fits.reduce((sum, { unknowns }, index) => sum + unknowns[key] * (weights[index] as number), 0);
  return {
    atOnce: (fits[0] as Tried).unknowns.atOnce,
    stepShare: mean('stepShare'),
    perInstance: mean('perInstance'),
    perSampleShare: mean('perSampleShare'),
    frontEndMs: mean('frontEndMs'),
    scale: mean('scale'),
  };
}

function computeWeights(tried: readonly Tried[]): number[] {
  const least = Math.min(...tried.map(({ loss }) => loss));
  const raw = tried.map(({ loss }) => Math.exp(least - loss));
  const total = raw.reduce((sum, weight) => sum + weight, 0);
  return raw.map((weight) => weight / total);
}

/** Returns the slope beyond the timed sizes, by the last two if two were timed. */
function lastSlope(alone: readonly AloneRow[]): number {
  const [before, last] = [alone.at(-2), alone.at(-1) as AloneRow];
  if (!before) return USUAL_PER_SAMPLE_SHARE;
  const slope = (last.computeMs - before.computeMs) / (last.batchSize - before.batchSize);
  return Math.max(0, slope / (last.computeMs / last.batchSize));
}
