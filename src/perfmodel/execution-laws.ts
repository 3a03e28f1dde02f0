import { busyBeside, instancesPerDevice } from '#queueing/batcher-policy.ts';
import { affineLaw, executionNs, type ServiceLaw } from '#queueing/service-law.ts';
import type { Candidate } from '#space/types.ts';
import type { NoisyReading, Normal } from '#stats/gaussian-process.ts';
import { executionTimeFactors, levelled } from './execution-time-factors.ts';
import { withFilling } from './filling.ts';
import type { ExecutionPoint } from './interference.ts';
import type { Choice } from './modelled-config.ts';
import { type Observation, type ServicePoint, servicePoints } from './observation.ts';
import { WHOLE, type WithoutParts } from './parts.ts';
import { type CorrectedLine, fitCorrectedLine } from './residual-correction.ts';
import { type CategoricalSettings, settingFactors } from './setting-effects.ts';
import { batchSizeUncertainty, largestMeasured } from './uncertainty.ts';

/** A choice with its observations. */
export interface Observed {
  readonly choice: Choice;
  readonly observations: readonly Observation[];
}

/** A choice with its mean execution times. */
export interface Timed {
  readonly choice: Choice;
  readonly points: readonly ExecutionPoint[];
}

/** Laws of execution times by choice, without the front end and the spread. */
export interface ExecutionLaws {
  /** Returns the law of a choice; the same object for choices with the same law. */
  of(choice: Choice): ServiceLaw;
  /** The standard deviation of an execution time's logarithm, with this many busy instances. */
  uncertainty(choice: Choice, batchSize: number, busyInstances: number): number;
  /** Returns |law / measured − 1| for each execution time that the laws were fitted to. */
  misses(): readonly number[];
}

/** Uncertainties are computed for multiples of this number of busy instances. */
const BUSY_STEP = 0.25;
/**
 * The noise of a factor between settings, as a standard deviation of logarithms: laws of different
 * settings are not of quite the same shape.
 */
const FACTOR_NOISE = 0.05;

/**
 * Fits the laws of execution times to the server's statistics by batch size. A law is the common
 * law of all settings (`fitCorrectedLine`, weighted towards its own) times a factor for its
 * settings. `expectedTime`: prior execution time of a candidate relative to others. null without
 * statistics by batch size.
 */
export function fitExecutionLaws(
  timed: readonly Timed[],
  without: WithoutParts = WHOLE,
  expectedTime: (candidate: Candidate) => number = () => 1,
): ExecutionLaws | null {
  const points = timed.flatMap((each) => each.points);
  const reference = timed.find(({ choice }) =>
    points.some(({ settingsKey }) => settingsKey === choice.settingsKey),
  )?.choice;
  if (!reference) return null;
  const expectedFactor = ({ candidate }: Choice): number =>
    Math.log(expectedTime(candidate) / expectedTime(reference.candidate));
  const seen = new Map(timed.map(({ choice }) => [choice.settingsKey, choice]));
  const expected = new Map([...seen].map(([settingsKey, choice]) => [settingsKey, expectedFactor(choice)]));
  const factors = executionTimeFactors(points, reference.settingsKey, expected, without);
  const surprises = settingFactors(
    reference.settings,
    without.has('settings') ? [] : listReadings(factors, seen, reference, expected),
  );
  const unseen = (choice: Choice): Normal => {
    const { mean, sd } = surprises(choice.settings);
    return { mean: mean + expectedFactor(choice), sd };
  };
  const computeFactor = (choice: Choice): number => factors.get(choice.settingsKey) ?? unseen(choice).mean;
  const level = levelled(points, factors);

  const correctedLines = new Map<string, CorrectedLine>();
  const correctedLineFor = ({ settingsKey, policy }: Choice): CorrectedLine => {
    const instances = instancesPerDevice(policy);
    const key = `${settingsKey} ${instances}`;
    const correctedLine = correctedLines.get(key) ?? fitCorrectedLine(level, { settingsKey, instances }, without);
    correctedLines.set(key, correctedLine);
    return correctedLine;
  };
  const known = new Map<string, ServiceLaw>();
  const findLine = (choice: Choice): ServiceLaw => {
    const key = `${choice.settingsKey} ${instancesPerDevice(choice.policy)} ${choice.largestBatch}`;
    const law = known.get(key) ?? lawFor(choice, correctedLineFor(choice), computeFactor(choice));
    known.set(key, law);
    return law;
  };
  const largest = largestMeasured(level);
  const filled = new Map<ServiceLaw, ServiceLaw>();
  const findLaw = (choice: Choice): ServiceLaw => {
    const line = findLine(choice);
    const law = without.has('filling') ? line : (filled.get(line) ?? withFilling(line, largest));
    filled.set(line, law);
    return law;
  };
  const uncertainties = new Map<string, number>();
  return {
    of: findLaw,
    uncertainty(choice, batchSize, busyInstances) {
      const { settingsKey, policy, largestBatch } = choice;
      const busy = Math.round(busyBeside(policy, busyInstances) / BUSY_STEP) * BUSY_STEP;
      const key = `${settingsKey} ${instancesPerDevice(policy)} ${largestBatch} ${batchSize} ${busy}`;
      const uncertainty =
        uncertainties.get(key) ??
        Math.hypot(
          factors.has(settingsKey) ? 0 : unseen(choice).sd,
          correctedLineFor(choice).interferenceUncertainty(batchSize, busy),
          batchSizeUncertainty(batchSize, level, findLine(choice), without),
        );
      uncertainties.set(key, uncertainty);
      return uncertainty;
    },
    misses: () => timed.flatMap(({ choice, points }) => listMisses(findLaw(choice), points)),
  };
}

/**
 * Returns the mean execution times of a choice by batch size, with the instances on one device.
 */
export function listPoints({ choice, observations }: Observed): ExecutionPoint[] {
  const instances = instancesPerDevice(choice.policy);
  return observations.flatMap(servicePoints).map((point) => ({ ...point, instances }));
}

/** Returns |law / measured − 1| for each execution time. */
const listMisses = (law: ServiceLaw, points: readonly ServicePoint[]): number[] =>
  points.map((point) => Math.abs(executionNs(law, point.batchSize, point.busyInstances) / point.executionNs - 1));

/** Returns the factors of measured settings over their expected ones. */
function listReadings(
  factors: ReadonlyMap<string, number>,
  seen: ReadonlyMap<string, Choice>,
  reference: Choice,
  expected: ReadonlyMap<string, number>,
): NoisyReading<CategoricalSettings>[] {
  return [...factors].flatMap(([settingsKey, factor]) => {
    const place = settingsKey === reference.settingsKey ? undefined : seen.get(settingsKey)?.settings;
    const value = factor - (expected.get(settingsKey) ?? 0);
    return place ? [{ place, value, noiseVariance: FACTOR_NOISE ** 2 }] : [];
  });
}

function lawFor({ largestBatch }: Choice, { line, correctionAt }: CorrectedLine, factor: number): ServiceLaw {
  const timeNs = (batchSize: number): number =>
    (line.fixedNs + line.perSampleNs * batchSize) * Math.exp(correctionAt(batchSize) + factor);
  return {
    ...affineLaw(1, 1),
    points: sizesUpTo(Math.max(2, largestBatch)).map((batchSize) => ({
      batchSize,
      executionNs: timeNs(batchSize),
    })),
    interference: line.interference,
  };
}

/** Returns 1, 2, 3, 4, 6, 8, 12, 16, … up to twice the largest. */
function sizesUpTo(largest: number): number[] {
  const sizes = [1, 2];
  for (let power = 2; power < largest; power *= 2) sizes.push(power * 1.5, 2 * power);
  return sizes;
}
