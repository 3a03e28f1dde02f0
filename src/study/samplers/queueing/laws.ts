import { fitSpread } from '../../../queueing/fit-spread.ts';
import { type Observation, seenExecutions, servicePoints } from '../../../queueing/observation.ts';
import { affineLaw, type ServiceLaw } from '../../../queueing/service-law.ts';
import type { Reading } from '../../../stats/gaussian-process.ts';
import { armFactors, type Traits } from './arms.ts';
import { type Bend, bendOf } from './bend.ts';
import type { Choice } from './choices.ts';
import type { Point } from './crowding.ts';
import { doubtOf } from './doubts.ts';
import { fitFrontEnd } from './front-end.ts';
import { NOTHING, type Without } from './mechanisms.ts';
import { levelled, variantFactors } from './variant-factors.ts';

/** What the statistics of one choice say. */
export interface Observed {
  readonly choice: Choice;
  readonly observations: readonly Observation[];
}

/** Service laws for choices, each fitted mostly to what is like it. */
export interface Laws {
  of(choice: Choice): ServiceLaw;
  /** How well the time of such an execution is known, beside so many busy instances: a logarithm's standard deviation. */
  doubt(choice: Choice, batchSize: number, busyInstances: number): number;
  readonly roundTripNs: number;
}

/** Doubts are worked out for so many busy instances, and their multiples. */
const BUSY_STEP = 0.25;
/** How executions scatter where that is not looked at. */
const USUAL_CV = 0.05;
/** The law of another variant is not quite of the same shape. */
const FACTOR_NOISE = 0.05;

/** Each law leans on what is like its choice (`bendOf`), and is that of all variants times a factor. null without statistics by batch size. */
export function lawsOf(observed: readonly Observed[], without: Without = NOTHING): Laws | null {
  const points = observed.flatMap(({ choice, observations }) =>
    observations.flatMap((observation) => {
      const company = (seenExecutions(observation)?.meanBatch ?? 1) / observation.samplesPerRequest;
      const { instances } = choice.policy;
      return servicePoints(observation).map((point): Point => ({ ...point, instances, company }));
    }),
  );
  const reference = observed.find(({ choice }) => points.some(({ variant }) => variant === choice.variant))?.choice;
  if (!reference) return null;
  const factors = variantFactors(points, reference.variant, without);
  const seen = new Map(observed.map(({ choice }) => [choice.variant, choice.traits]));
  const unseen = armFactors(reference.traits, without.has('carry-over') ? [] : readingsOf(factors, seen, reference));
  const factorOf = ({ variant, traits }: Choice): number => factors.get(variant) ?? unseen(traits).mean;
  const level = levelled(points, factors);

  const bends = new Map<string, Bend>();
  const bendFor = ({ variant, policy: { instances }, largestBatch }: Choice): Bend => {
    const isSingle = largestBatch === 1;
    const key = `${variant} ${instances} ${isSingle}`;
    const bend = bends.get(key) ?? bendOf(level, { variant, instances, isSingle }, without);
    bends.set(key, bend);
    return bend;
  };
  const known = new Map<string, ServiceLaw>();
  const rough = (choice: Choice): ServiceLaw => {
    const key = `${choice.variant} ${choice.policy.instances} ${choice.largestBatch}`;
    const law = known.get(key) ?? lawFor(choice, bendFor(choice), factorOf(choice));
    known.set(key, law);
    return law;
  };
  const telling = observed.flatMap(({ choice, observations }) =>
    observations
      .filter((each) => servicePoints(each).length > 0)
      .map((observation) => ({ observation, law: rough(choice) })),
  );
  // Under load the way to the server and back is longer by what the front end takes for the others, which is its own.
  const roundTripNs = Math.max(0, Math.min(...telling.map(({ observation }) => observation.roundTripNs)));
  const { frontEndNs, atOnce, ...way } = fitFrontEnd(telling, roundTripNs, without);
  const behind = { frontEndNs, ...(atOnce !== undefined && { atOnce }) };
  const explained = telling.map(({ law, observation }) => ({
    law: { ...law, ...behind },
    observation: { ...observation, roundTripNs: way.roundTripNs },
  }));
  const cv = without.has('tails') ? USUAL_CV : fitSpread(explained);
  const finished = new Map<ServiceLaw, ServiceLaw>();
  const doubts = new Map<string, number>();
  return {
    roundTripNs: way.roundTripNs,
    doubt(choice, batchSize, busyInstances) {
      const { variant, traits, policy, largestBatch } = choice;
      const busy = Math.round(busyInstances / BUSY_STEP) * BUSY_STEP;
      const key = `${variant} ${policy.instances} ${largestBatch === 1} ${batchSize} ${busy}`;
      const work = { variant, instances: policy.instances, largestBatch, batchSize, busyInstances: busy };
      const doubt =
        doubts.get(key) ??
        Math.hypot(
          factors.has(variant) ? 0 : unseen(traits).sd,
          bendFor(choice).doubtOfCrowding(batchSize, busy),
          doubtOf(work, level, rough(choice), without),
        );
      doubts.set(key, doubt);
      return doubt;
    },
    of(choice) {
      const law = rough(choice);
      const whole = finished.get(law) ?? { ...law, cv, ...behind };
      finished.set(law, whole);
      return whole;
    },
  };
}

function readingsOf(
  factors: ReadonlyMap<string, number>,
  seen: ReadonlyMap<string, Traits>,
  reference: Choice,
): Reading<Traits>[] {
  return [...factors].flatMap(([variant, value]) => {
    const place = variant === reference.variant ? undefined : seen.get(variant);
    return place ? [{ place, value, noiseVariance: FACTOR_NOISE ** 2 }] : [];
  });
}

function lawFor({ largestBatch }: Choice, { line, correctionAt }: Bend, factor: number): ServiceLaw {
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
