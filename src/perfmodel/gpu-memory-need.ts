import {
  type Hypothesis,
  matern52,
  type Normal,
  type Posterior,
  posteriorOf,
  type Reading,
} from '../stats/gaussian-process.ts';
import { chanceBelow, normalAbove } from '../stats/normal.ts';
import { instancesOf } from '../triton/instances.ts';
import type { ModelConfig } from '../triton/model-config.ts';
import { gpuMemoryOf } from './gpu-memory.ts';
import type { Choice } from './modelled-config.ts';
import { batchOf, sameKind } from './same-kind.ts';
import { differingCount } from './setting-effects.ts';
import type { Measured } from './simulator.ts';

/** What GPU memory choices need, by what others were measured to use. */
export interface GpuMemoryNeed {
  /** MiB, with what other processes hold. */
  mib(choice: Choice): Normal;
  /** null where the readings do not tell. */
  readonly chanceToFit: ((choice: Choice) => number) | null;
}

/** What a first reading leaves open: it may all be one instance's, or none of it. As a part of it; that of an instance likewise. */
const UNKNOWN_PART = 0.5;
/** What a place of an instance's batch needs, as a part of the instance: usual first. */
const PER_PLACE = [0.005, 0.001, 0.03, 0.2];
/** By how much the other settings change what an instance needs, likewise. */
const PER_SETTING = [0.6, 0.1];
/** A part other than the usual must be seen before it is believed: a logarithm of odds. */
const UNUSUAL = 0.7;
/** How far two combinations of settings are apart for each in which they differ. */
const SETTING_DISTANCE = 0.7;
/** No two readings of one config are alike: allocators keep what they once had. As a part of the reading. */
const NOISE = 0.03;
/** Where even the lightest config uses this part of all, somebody takes all that there is, whatever it needs. */
const HOARDED = 0.8;

/**
 * Memory is taken to be what is there anyway, and for each instance a part of its own and one for each place of its batch; other
 * settings change what an instance takes. All parts are unknown and normal; a refusal for want of memory says that more was needed
 * than there is. null where the server does not report its GPUs.
 */
export function gpuMemoryNeed(measured: readonly Measured[], refused: readonly Choice[] = []): GpuMemoryNeed | null {
  const seen = measured.flatMap(({ choice, measurements }) => {
    const memory = gpuMemoryOf(measurements);
    return memory && memory.usedMib > 0 ? [{ choice, ...memory }] : [];
  });
  const [first] = seen;
  if (!first) return null;
  const unit: Unit = {
    mib: first.usedMib,
    instances: first.choice.policy.instances,
    instancesPart: isOnCpu(first.choice.candidate.config) ? 0 : UNKNOWN_PART,
  };
  const readings = seen.map(({ choice, usedMib }) => ({
    place: choice,
    value: usedMib / unit.mib - usual(choice, unit),
    noiseVariance: ((NOISE * usedMib) / unit.mib) ** 2,
  }));
  const lightestMib = Math.min(...seen.map(({ usedMib }) => usedMib));
  const totalMib = first.totalMib !== null && lightestMib < HOARDED * first.totalMib ? first.totalMib : null;
  const known =
    totalMib === null ? posteriorOf(readings, hypothesesOf(unit)) : withRefused(readings, refused, unit, totalMib);
  const mib = (choice: Choice): Normal => inMib(known(choice), choice, unit);
  if (totalMib === null) return { mib, chanceToFit: null };
  const chanceToFit = (choice: Choice): number => {
    const { mean, sd } = mib(choice);
    return seen.some((other) => needsNoMore(choice, other.choice)) ? 1 : chanceBelow((totalMib - mean) / sd);
  };
  return { mib, chanceToFit };
}

/** Than one of its kind that loaded. */
function needsNoMore({ candidate: { config } }: Choice, { candidate: { config: loaded } }: Choice): boolean {
  const isSmaller = instancesOf(config) <= instancesOf(loaded) && batchOf(config) <= batchOf(loaded);
  return isSmaller && sameKind(config, loaded);
}

/** The first reading, of which all others are taken as multiples. */
interface Unit {
  readonly mib: number;
  readonly instances: number;
  /** How much of it is taken to be the instances'. */
  readonly instancesPart: number;
}

/** By the server's books; a Python model may use the GPU all the same. */
const isOnCpu = ({ instance_group: groups = [] }: ModelConfig): boolean =>
  groups.length > 0 && groups.every(({ kind }) => kind === 'KIND_CPU');

/** What is expected before a second reading. */
const usual = ({ policy }: Choice, { instances, instancesPart }: Unit): number =>
  1 + instancesPart * (policy.instances / instances - 1);

const inMib = ({ mean, sd }: Normal, choice: Choice, unit: Unit): Normal => ({
  mean: unit.mib * (mean + usual(choice, unit)),
  sd: unit.mib * sd,
});

function hypothesesOf({ instances }: Unit): [Hypothesis<Choice>, ...Hypothesis<Choice>[]] {
  return PER_SETTING.flatMap((perSetting, unlikelier) =>
    PER_PLACE.map((perPlace, unusual) => ({
      kernel: (a: Choice, b: Choice): number => {
        const both = (a.policy.instances * b.policy.instances) / instances ** 2;
        const alike = matern52(SETTING_DISTANCE * Math.sqrt(differingCount(a.settings, b.settings)));
        const perInstance = 1 + perSetting ** 2 * alike + perPlace ** 2 * placesOf(a) * placesOf(b);
        return UNKNOWN_PART ** 2 * (1 + both * perInstance);
      },
      logPrior: -UNUSUAL * (unlikelier + (unusual > 0 ? 1 : 0)),
    })),
  ) as [Hypothesis<Choice>, ...Hypothesis<Choice>[]];
}

const placesOf = ({ policy }: Choice): number => Math.max(1, policy.maxBatchSize);

/**
 * Each refusal becomes the reading that would teach as much as knowing that the need is above the total (assumed-density filtering:
 * Minka, A family of algorithms for approximate Bayesian inference, 2001, section 3).
 */
function withRefused(
  readings: readonly Reading<Choice>[],
  refused: readonly Choice[],
  unit: Unit,
  totalMib: number,
): Posterior<Choice> {
  const hypotheses = hypothesesOf(unit);
  return refused.reduce(
    ({ known, posterior }, choice) => {
      const before = posterior(choice);
      const after = normalAbove(before, totalMib / unit.mib - usual(choice, unit));
      const precision = 1 / after.sd ** 2 - 1 / before.sd ** 2;
      if (!(precision > 0)) return { known, posterior };
      const value = (after.mean / after.sd ** 2 - before.mean / before.sd ** 2) / precision;
      const more = [...known, { place: choice, value, noiseVariance: 1 / precision }];
      return { known: more, posterior: posteriorOf(more, hypotheses) };
    },
    { known: readings, posterior: posteriorOf(readings, hypotheses) },
  ).posterior;
}
