import { fitSpread } from '../queueing/fit-spread.ts';
import { hasServicePoints, type Observation, seenExecutions, servicePoints } from '../queueing/observation.ts';
import { affineLaw, executionNs, type ServiceLaw } from '../queueing/service-law.ts';
import type { Reading } from '../stats/gaussian-process.ts';
import { fitFrontEnd } from './front-end.ts';
import type { Point } from './interference.ts';
import type { Choice } from './modelled-config.ts';
import { WHOLE, type WithoutParts } from './parts.ts';
import { type CorrectedLine, correctedLineOf } from './residual-correction.ts';
import { type Settings, settingFactors } from './setting-effects.ts';
import { uncertaintyOf } from './uncertainty.ts';
import { levelled, variantFactors } from './variant-factors.ts';

/** What the statistics of one choice say. */
export interface Observed {
  readonly choice: Choice;
  readonly observations: readonly Observation[];
}

/** Service laws for choices, each fitted mostly to what is like it. */
export interface ServiceTimes {
  of(choice: Choice): ServiceLaw;
  /** How well the time of such an execution is known, beside so many busy instances: a logarithm's standard deviation. */
  uncertainty(choice: Choice, batchSize: number, busyInstances: number): number;
  readonly roundTripNs: number;
}

/** Doubts are worked out for so many busy instances, and their multiples. */
const BUSY_STEP = 0.25;
/** How executions scatter where that is not looked at. */
const USUAL_CV = 0.05;
/** The law of another variant is not quite of the same shape. */
const FACTOR_NOISE = 0.05;

/** Each law leans on what is like its choice (`correctedLineOf`), and is that of all variants times a factor. null without statistics by batch size. */
export function serviceTimesOf(observed: readonly Observed[], without: WithoutParts = WHOLE): ServiceTimes | null {
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
  const seen = new Map(observed.map(({ choice }) => [choice.variant, choice.settings]));
  const unseen = settingFactors(
    reference.settings,
    without.has('carry-over') ? [] : readingsOf(factors, seen, reference),
  );
  const factorOf = ({ variant, settings }: Choice): number => factors.get(variant) ?? unseen(settings).mean;
  const level = levelled(points, factors);

  const correctedLines = new Map<string, CorrectedLine>();
  const correctedLineFor = ({ variant, policy: { instances }, largestBatch }: Choice): CorrectedLine => {
    const isSingle = largestBatch === 1;
    const key = `${variant} ${instances} ${isSingle}`;
    const correctedLine = correctedLines.get(key) ?? correctedLineOf(level, { variant, instances, isSingle }, without);
    correctedLines.set(key, correctedLine);
    return correctedLine;
  };
  const known = new Map<string, ServiceLaw>();
  const rough = (choice: Choice): ServiceLaw => {
    const key = `${choice.variant} ${choice.policy.instances} ${choice.largestBatch}`;
    const law = known.get(key) ?? lawFor(choice, correctedLineFor(choice), factorOf(choice));
    known.set(key, law);
    return law;
  };
  const telling = observed.flatMap(({ choice, observations }) =>
    observations.filter(hasServicePoints).map((observation) => ({ observation, law: rough(choice) })),
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
  const uncertainties = new Map<string, number>();
  return {
    roundTripNs: way.roundTripNs,
    uncertainty(choice, batchSize, busyInstances) {
      const { variant, settings, policy, largestBatch } = choice;
      const busy = Math.round(busyInstances / BUSY_STEP) * BUSY_STEP;
      const key = `${variant} ${policy.instances} ${largestBatch === 1} ${batchSize} ${busy}`;
      const work = { variant, instances: policy.instances, largestBatch, batchSize, busyInstances: busy };
      const uncertainty =
        uncertainties.get(key) ??
        Math.hypot(
          factors.has(variant) ? 0 : unseen(settings).sd,
          correctedLineFor(choice).interferenceUncertainty(batchSize, busy),
          uncertaintyOf(work, level, rough(choice), without),
        );
      uncertainties.set(key, uncertainty);
      return uncertainty;
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
  seen: ReadonlyMap<string, Settings>,
  reference: Choice,
): Reading<Settings>[] {
  return [...factors].flatMap(([variant, value]) => {
    const place = variant === reference.variant ? undefined : seen.get(variant);
    return place ? [{ place, value, noiseVariance: FACTOR_NOISE ** 2 }] : [];
  });
}

function lawFor({ largestBatch }: Choice, { line, correctionAt }: CorrectedLine, factor: number): ServiceLaw {
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

/** |law / observed - 1| of each execution time that was observed. */
export const executionMisses = (law: ServiceLaw, observations: readonly Observation[]): number[] =>
  observations
    .flatMap(servicePoints)
    .map((point) => Math.abs(executionNs(law, point.batchSize, point.busyInstances) / point.executionNs - 1));
