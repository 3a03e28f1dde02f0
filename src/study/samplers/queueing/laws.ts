import { median } from 'simple-statistics';
import { type AffineFit, affineNs, fitAffine } from '../../../queueing/fit-affine.ts';
import { fitSpread } from '../../../queueing/fit-spread.ts';
import { type Observation, type ServicePoint, servicePoints } from '../../../queueing/observation.ts';
import { affineLaw, type ServiceLaw } from '../../../queueing/service-law.ts';
import { armFactors, type Traits } from './arms.ts';
import type { Choice } from './choices.ts';
import { fitFrontEnd } from './front-end.ts';
import type { Reading } from './gaussian-process.ts';

/** What the statistics of one choice say. */
export interface Observed {
  readonly choice: Choice;
  readonly observations: readonly Observation[];
}

/** Service laws for choices, each fitted mostly to what is like it. */
export interface Laws {
  of(choice: Choice): ServiceLaw;
  /** How well the speed of the choice's own settings is known: a logarithm's standard deviation. */
  doubt(choice: Choice): number;
  readonly roundTripNs: number;
}

/** A point of the law, and how many instances its choice has, busy or not: some models are slower for those that only wait. */
type Point = ServicePoint & { readonly instances: number };

/** Points of other numbers of instances count less, the more doublings they are away, and never nothing. */
const INSTANCE_BANDWIDTH = 0.8;
const LEAST_WEIGHT = 0.03;
/** Of what the line does not explain: in doublings of the batch and of the busy instances. */
const RESIDUAL_BANDWIDTH = { batch: 0.5, instances: 0.6 };
const SHRINKAGE = 0.3;
/** Of a service time, as a logarithm, for instances that were not seen in this number. */
const DOUBT_PER_DOUBLING = 0.15;
const MOST_DOUBT = 0.35;
const OTHER_VARIANT_WEIGHT = 0.2;
/** The law of another variant is not quite of the same shape. */
const FACTOR_NOISE = 0.05;

/**
 * One line is bent by the interference of many instances, so that few of them look slow, when all points count alike:
 * instead the law for each number of instances leans on the points with about as many. null without statistics by batch size.
 */
export function lawsOf(observed: readonly Observed[]): Laws | null {
  const points = observed.flatMap(({ choice, observations }) =>
    observations.flatMap(servicePoints).map((point): Point => ({ ...point, instances: choice.policy.instances })),
  );
  const reference = observed.find(({ choice }) => points.some(({ variant }) => variant === choice.variant));
  if (!reference) return null;
  const own = fitAffine(points.filter(({ variant }) => variant === reference.choice.variant));
  const factors = new Map(readings(observed, own, reference.choice).map(({ place, value }) => [place, value] as const));
  const unseen = armFactors(
    reference.choice.traits,
    [...factors].map(([place, value]): Reading<Traits> => ({ place, value, noiseVariance: FACTOR_NOISE ** 2 })),
  );
  const byVariant = new Map(
    observed.flatMap(({ choice }) => {
      const factor = factors.get(choice.traits);
      return factor === undefined ? [] : [[choice.variant, factor] as const];
    }),
  );
  byVariant.set(reference.choice.variant, 0);
  const levelled = points.map((point) => ({
    ...point,
    executionNs: point.executionNs / Math.exp(byVariant.get(point.variant) ?? 0),
  }));
  const factorOf = (choice: Choice): number => byVariant.get(choice.variant) ?? unseen(choice.traits).mean;

  const known = new Map<string, ServiceLaw>();
  const rough = (choice: Choice): ServiceLaw => {
    const key = `${choice.variant} ${choice.policy.instances}`;
    const law = known.get(key) ?? lawFor(choice, levelled, factorOf(choice));
    known.set(key, law);
    return law;
  };
  const telling = observed.flatMap(({ choice, observations }) =>
    observations
      .filter((each) => servicePoints(each).length > 0)
      .map((observation) => ({ observation, law: rough(choice) })),
  );
  const roundTripNs = Math.max(0, median(telling.map(({ observation }) => observation.roundTripNs)));
  const frontEnd = fitFrontEnd(telling, roundTripNs);
  const first = { ...(telling[0]?.law ?? affineLaw(1, 1)), frontEndNs: frontEnd.frontEndNs };
  const cv = fitSpread(
    first,
    telling.filter(({ law }) => law === telling[0]?.law).map(({ observation }) => observation),
  );
  const finished = new Map<ServiceLaw, ServiceLaw>();
  return {
    roundTripNs: frontEnd.roundTripNs,
    doubt: (choice) =>
      Math.hypot(byVariant.has(choice.variant) ? 0 : unseen(choice.traits).sd, doubtOfInstances(choice, points)),
    of(choice) {
      const law = rough(choice);
      const whole = finished.get(law) ?? { ...law, cv, frontEndNs: frontEnd.frontEndNs };
      finished.set(law, whole);
      return whole;
    },
  };
}

/** How instances get on with each other has no law that always holds: more of them than were seen may do better or worse, and so may fewer. */
function doubtOfInstances({ policy }: Choice, points: readonly Point[]): number {
  const apart = points.map(({ instances }) => Math.abs(Math.log2(policy.instances / instances)));
  return Math.min(MOST_DOUBT, DOUBT_PER_DOUBLING * Math.min(...apart));
}

/** How much slower than the reference each other variant was found. */
function readings(
  observed: readonly Observed[],
  line: AffineFit,
  reference: Choice,
): { place: Traits; value: number }[] {
  const byVariant = Map.groupBy(
    observed.filter(({ choice }) => choice.variant !== reference.variant),
    ({ choice }) => choice.variant,
  );
  return [...byVariant.values()].flatMap((group) => {
    const logs = group
      .flatMap(({ observations }) => observations.flatMap(servicePoints))
      .map((point) => Math.log(point.executionNs / affineNs(line, point)));
    const place = group[0]?.choice.traits;
    return place && logs.length > 0 ? [{ place, value: median(logs) }] : [];
  });
}

function lawFor({ policy, variant, largestBatch }: Choice, points: readonly Point[], factor: number): ServiceLaw {
  const near = points.map((point) => {
    const doublings = Math.log2(point.instances / policy.instances) / INSTANCE_BANDWIDTH;
    const own = point.variant === variant ? 1 : OTHER_VARIANT_WEIGHT;
    return { ...point, weight: point.weight * own * Math.max(LEAST_WEIGHT, Math.exp(-(doublings ** 2) / 2)) };
  });
  const line = fitAffine(near);
  const residuals = points.map((point) => ({
    log: Math.log(point.executionNs / affineNs(line, point)),
    batch: Math.log2(point.batchSize),
    instances: Math.log2(point.instances / policy.instances),
    weight: point.weight * (point.variant === variant ? 1 : OTHER_VARIANT_WEIGHT),
  }));
  const correctionAt = (batchSize: number): number => {
    let [sum, total] = [0, SHRINKAGE];
    for (const { log, batch, instances, weight } of residuals) {
      const apart = (Math.log2(batchSize) - batch) / RESIDUAL_BANDWIDTH.batch;
      const away = instances / RESIDUAL_BANDWIDTH.instances;
      const counts = weight * Math.exp(-(apart ** 2 + away ** 2) / 2);
      sum += counts * log;
      total += counts;
    }
    return sum / total;
  };
  const executionNs = (batchSize: number): number =>
    (line.fixedNs + line.perSampleNs * batchSize) * Math.exp(correctionAt(batchSize) + factor);
  return {
    ...affineLaw(1, 1),
    points: sizesUpTo(Math.max(2, largestBatch)).map((batchSize) => ({
      batchSize,
      executionNs: executionNs(batchSize),
    })),
    interference: line.interference,
  };
}

/** 1, 2, 3, 4, 6, 8, 12, 16, … up to twice the largest. */
function sizesUpTo(largest: number): number[] {
  const sizes = [1, 2];
  for (let power = 2; power < largest; power *= 2) sizes.push(power * 1.5, 2 * power);
  return sizes;
}
