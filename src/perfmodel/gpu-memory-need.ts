import {
  computePosterior,
  type Hypothesis,
  matern52,
  type NoisyReading,
  type Normal,
  type Posterior,
} from '#stats/gaussian-process.ts';
import { chanceBelow, normalAbove } from '#stats/normal.ts';
import { findGpuMemory } from './gpu-memory.ts';
import { type Choice, listParts } from './modelled-config.ts';
import type { MeasuredChoice } from './service-model.ts';
import { differingCount } from './setting-effects.ts';

/** The GPU memory that choices need, predicted from the memory that others used. */
export interface GpuMemoryNeed {
  /** Returns the need in MiB, including the memory of other processes. */
  mib(choice: Choice): Normal;
  /** Returns the probability that the choice fits; null if the readings do not show it. */
  readonly chanceToFit: ((choice: Choice) => number) | null;
}

/**
 * The prior standard deviation of an instance's share of the first reading, and of the rest, as a
 * share of that reading.
 */
const UNKNOWN_PART = 0.5;
/**
 * Hypotheses of the memory per place of a batch, as a share of the instance; the usual one first.
 */
const PER_PLACE = [0.005, 0.001, 0.03, 0.2];
/**
 * Hypotheses of the relative standard deviation of an instance's memory over settings; the usual
 * one first.
 */
const PER_SETTING = [0.6, 0.1];
/** The log prior odds against an unusual hypothesis. */
const UNUSUAL = 0.7;
/** The distance of two combinations of settings for each setting in which they differ. */
const SETTING_DISTANCE = 0.7;
/** The relative noise of a reading: allocators keep memory that they once had. */
const NOISE = 0.03;
/**
 * If even the lightest config uses this share of the memory, an allocator has reserved it all,
 * whatever the need.
 */
const HOARDED = 0.8;

/**
 * Fits the GPU memory that choices need: a constant, plus a part per instance and one for each
 * place of its batch; other settings change the instance's part. All parts are normal; an
 * out-of-memory refusal means that the need exceeds the total. null if the server does not report
 * its GPUs.
 */
export function gpuMemoryNeed(
  measured: readonly MeasuredChoice[],
  refused: readonly Choice[] = [],
): GpuMemoryNeed | null {
  const seen = measured.flatMap(({ choice, measurements }) => {
    const memory = findGpuMemory(measurements);
    return memory && memory.usedMib > 0 ? [{ choice, ...memory }] : [];
  });
  const [first] = seen;
  if (!first) return null;
  const unit: Unit = {
    mib: first.usedMib,
    instances: first.choice.policy.instances,
    instancesPart: isOnCpu(first.choice) ? 0 : UNKNOWN_PART,
  };
  const readings = seen.map(({ choice, usedMib }) => ({
    place: choice,
    value: usedMib / unit.mib - usual(choice, unit),
    noiseVariance: ((NOISE * usedMib) / unit.mib) ** 2,
  }));
  const lightestMib = Math.min(...seen.map(({ usedMib }) => usedMib));
  const totalMib = first.totalMib !== null && lightestMib < HOARDED * first.totalMib ? first.totalMib : null;
  const known =
    totalMib === null
      ? computePosterior(readings, listHypotheses(unit))
      : withRefused(readings, refused, unit, totalMib);
  const mib = (choice: Choice): Normal => inMib(known(choice), choice, unit);
  if (totalMib === null) return { mib, chanceToFit: null };
  const chanceToFit = (choice: Choice): number => {
    const { mean, sd } = mib(choice);
    return seen.some((other) => needsNoMore(choice, other.choice)) ? 1 : chanceBelow((totalMib - mean) / sd);
  };
  return { mib, chanceToFit };
}

/** True if a choice needs no more than another of its kind that loaded. */
function needsNoMore(one: Choice, other: Choice): boolean {
  return listParts(one).every(({ policy, settingsKey }, index) => {
    const loaded = listParts(other)[index];
    const isSmaller =
      loaded && policy.instances <= loaded.policy.instances && policy.maxBatchSize <= loaded.policy.maxBatchSize;
    return isSmaller && settingsKey === loaded.settingsKey;
  });
}

/** The first reading, which is the unit of all others. */
interface Unit {
  readonly mib: number;
  readonly instances: number;
  /** Its share that instances are assumed to have. */
  readonly instancesPart: number;
}

/** True if the config places every instance on the CPU. A Python model may still use the GPU. */
const isOnCpu = ({ candidate: { shape } }: Choice): boolean =>
  shape.groups.length > 0 && shape.groups.every(({ device }) => device === 'cpu');

/** The prior mean of the need, in units. */
const usual = ({ policy }: Choice, { instances, instancesPart }: Unit): number =>
  1 + instancesPart * (policy.instances / instances - 1);

const inMib = ({ mean, sd }: Normal, choice: Choice, unit: Unit): Normal => ({
  mean: unit.mib * (mean + usual(choice, unit)),
  sd: unit.mib * sd,
});

function listHypotheses({ instances }: Unit): [Hypothesis<Choice>, ...Hypothesis<Choice>[]] {
  return PER_SETTING.flatMap((perSetting, unlikelier) =>
    PER_PLACE.map((perPlace, unusual) => ({
      kernel: (a: Choice, b: Choice): number => {
        const [choices, others] = [listParts(a), listParts(b)];
        // Each model has its own part per instance, and its own kind of settings.
        const parts = choices.reduce((sum, part, index) => {
          const other = others[index] as Choice;
          const both = (part.policy.instances * other.policy.instances) / instances ** 2;
          const alike = matern52(SETTING_DISTANCE * Math.sqrt(differingCount(part.settings, other.settings)));
          return sum + both * (1 + perSetting ** 2 * alike + perPlace ** 2 * countPlaces(part) * countPlaces(other));
        }, 0);
        return UNKNOWN_PART ** 2 * (1 + parts);
      },
      logPrior: -UNUSUAL * (unlikelier + (unusual > 0 ? 1 : 0)),
    })),
  ) as [Hypothesis<Choice>, ...Hypothesis<Choice>[]];
}

const countPlaces = ({ policy }: Choice): number => Math.max(1, policy.maxBatchSize);

/**
 * Replaces each refusal by the reading that has the same effect on the posterior as knowing that
 * the need exceeds the total (assumed-density filtering: Minka, A family of algorithms for
 * approximate Bayesian inference, 2001, section 3).
 */
function withRefused(
  readings: readonly NoisyReading<Choice>[],
  refused: readonly Choice[],
  unit: Unit,
  totalMib: number,
): Posterior<Choice> {
  const hypotheses = listHypotheses(unit);
  return refused.reduce(
    ({ known, posterior }, choice) => {
      const before = posterior(choice);
      const after = normalAbove(before, totalMib / unit.mib - usual(choice, unit));
      const precision = 1 / after.sd ** 2 - 1 / before.sd ** 2;
      if (!(precision > 0)) return { known, posterior };
      const value = (after.mean / after.sd ** 2 - before.mean / before.sd ** 2) / precision;
      const more = [...known, { place: choice, value, noiseVariance: 1 / precision }];
      return { known: more, posterior: computePosterior(more, hypotheses) };
    },
    { known: readings, posterior: computePosterior(readings, hypotheses) },
  ).posterior;
}
