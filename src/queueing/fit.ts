import { median } from 'simple-statistics';
import { type AffineFit, affineNs, fitAffine } from './fit-affine.ts';
import { type FitQuality, fitQuality } from './fit-quality.ts';
import { fitSpread } from './fit-spread.ts';
import { type LineEstimates, lineEstimates } from './fit-uncertainty.ts';
import { hasServicePoints, meanSplit, type Observation, type ServicePoint, servicePoints } from './observation.ts';
import { affineLaw, executionNs, type LawPoint, type ServiceLaw } from './service-law.ts';

/** A service law with what it was fitted to. */
export type FittedLaw = {
  readonly law: ServiceLaw;
  /** Median over the observations. */
  readonly roundTripNs: number;
  /** Observations that told something. */
  readonly observations: number;
  /** Median of |law / observed − 1| over the observed execution times. */
  readonly medianResidual: number;
  /** The same in words: whether the law explains its data. */
  readonly quality: FitQuality;
  /** The line behind the law, and how sure it is. */
  readonly estimates: LineEstimates;
  /** The largest seen; beyond them the law is a guess. */
  readonly largestBatch: number;
  readonly mostInstances: number;
  /** False: the law is that of other variants. */
  readonly knowsVariant: boolean;
};

/** Batch sizes this near, in doublings, share what the line does not explain; the rest is drawn towards the line. */
const BANDWIDTH_DOUBLINGS = 0.5;
const SHRINKAGE = 0.3;
const OTHER_VARIANT_WEIGHT = 0.3;
const ROUNDS = 3;

/**
 * The service law of a model's variant behind what a server's statistics say of some closed loops: a fixed part, a part
 * per sample, the interference between instances, a correction where batch sizes were observed, and the spread that
 * explains the tails. Other variants tell of its shape; of its level only while it has no observation itself.
 * Relative least squares over a grid of interferences, weak priors, kernel-smoothed residuals.
 * null when no observation holds execution times by batch size.
 */
export function fitServiceLaw(observations: readonly Observation[], variant: string): FittedLaw | null {
  const telling = observations.filter(hasServicePoints);
  if (telling.length === 0) return null;
  const { line, points } = fitVariant(telling.flatMap(servicePoints), variant);
  const largestBatch = Math.max(...points.map((point) => point.batchSize));
  const steady: ServiceLaw = {
    ...affineLaw(1, 1),
    points: lawPoints(line, points, largestBatch),
    interference: line.interference,
    split: meanSplit(telling),
  };
  const own = telling.filter((observation) => observation.variant === variant);
  const residuals = points.map((point) =>
    Math.abs(executionNs(steady, point.batchSize, point.busyInstances) / point.executionNs - 1),
  );
  return {
    law: {
      ...steady,
      cv: fitSpread((own.length > 0 ? own : telling).map((observation) => ({ law: steady, observation }))),
    },
    roundTripNs: Math.max(0, median(telling.map((observation) => observation.roundTripNs))),
    observations: telling.length,
    medianResidual: median(residuals),
    quality: fitQuality(residuals),
    // A fit for each observation left out: only for whoever asks.
    get estimates() {
      return lineEstimates(line, telling, (some) =>
        some.length === 0 ? null : fitVariant(some.flatMap(servicePoints), variant).line,
      );
    },
    largestBatch,
    mostInstances: Math.max(...telling.map(({ policy }) => policy.instances)),
    knowsVariant: own.length > 0,
  };
}

/** The line of the variant, and all points brought to its level: line and factors in turn, a few times. */
function fitVariant(all: readonly ServicePoint[], variant: string): { line: AffineFit; points: ServicePoint[] } {
  const others = new Set(all.map((point) => point.variant));
  if (!others.delete(variant) || others.size === 0) return { line: fitAffine(all), points: [...all] };
  const factors = new Map<string, number>();
  const levelled = (): ServicePoint[] =>
    all.map((point) =>
      point.variant === variant
        ? point
        : {
            ...point,
            executionNs: point.executionNs / (factors.get(point.variant) ?? 1),
            weight: point.weight * OTHER_VARIANT_WEIGHT,
          },
    );
  let line = fitAffine(all.filter((point) => point.variant === variant));
  for (let round = 0; round < ROUNDS; round++) {
    for (const other of others) {
      const residuals = all.filter((point) => point.variant === other).map((point) => residualOf(line, point));
      factors.set(other, Math.exp(weightedMean(residuals)));
    }
    line = fitAffine(levelled());
  }
  return { line, points: levelled() };
}

/** The line with its correction up to the largest observed size, and from there on with the line's own slope. */
function lawPoints(line: AffineFit, points: readonly ServicePoint[], largestBatch: number): LawPoint[] {
  const residuals = points.map((point) => ({ ...residualOf(line, point), doublings: Math.log2(point.batchSize) }));
  const corrected = sizesUpTo(largestBatch).map((batchSize) => {
    const near = residuals.map(({ log, weight, doublings }) => {
      const distance = (Math.log2(batchSize) - doublings) / BANDWIDTH_DOUBLINGS;
      return { log, weight: weight * Math.exp(-(distance ** 2) / 2) };
    });
    return { batchSize, executionNs: lineNs(line, batchSize) * Math.exp(weightedMean(near)) };
  });
  const last = corrected.at(-1) as LawPoint;
  const beyond = { batchSize: 2 * last.batchSize, executionNs: last.executionNs + line.perSampleNs * last.batchSize };
  return [...corrected, beyond];
}

type Residual = { readonly log: number; readonly weight: number };

const residualOf = (line: AffineFit, point: ServicePoint): Residual => ({
  log: Math.log(point.executionNs / affineNs(line, point)),
  weight: point.weight,
});

/** Of few or light residuals, drawn towards none. */
function weightedMean(residuals: readonly Residual[]): number {
  const total = residuals.reduce((sum, { weight }) => sum + weight, SHRINKAGE);
  return residuals.reduce((sum, { log, weight }) => sum + log * weight, 0) / total;
}

const lineNs = (line: AffineFit, batchSize: number): number => line.fixedNs + line.perSampleNs * batchSize;

/** 1, 2, 3, 4, 6, 8, 12, 16, …, and the last. */
function sizesUpTo(largest: number): number[] {
  const sizes = [1];
  for (let power = 2; power < largest; power *= 2) {
    sizes.push(power);
    if (power * 1.5 < largest) sizes.push(power * 1.5);
  }
  return largest > 1 ? [...sizes, largest] : sizes;
}
