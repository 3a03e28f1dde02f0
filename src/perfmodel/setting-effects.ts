import {
  computePosterior,
  type Hypothesis,
  type NoisyReading,
  type Normal,
  type Posterior,
} from '#stats/gaussian-process.ts';

/** The categorical settings of a model, which the simulator does not model, by path. */
export type CategoricalSettings = ReadonlyMap<string, string>;

/**
 * The prior standard deviation of the log factor between combinations of settings: half or twice as
 * fast.
 */
const USUAL_FACTOR = 0.45;
/**
 * The share of that variance that belongs to the combination and not to its individual settings.
 */
const OWN_SHARE = 0.2;

/**
 * Returns the posterior of the execution time with given settings relative to the reference's, as a
 * logarithm. Each setting has an effect of its own, which other measured combinations share, and
 * each combination a small one besides, so that one measurement of a setting informs all its
 * combinations.
 */
export function settingFactors(
  reference: CategoricalSettings,
  known: readonly NoisyReading<CategoricalSettings>[],
): Posterior<CategoricalSettings> {
  const kernel = (a: CategoricalSettings, b: CategoricalSettings): number => covariance(reference, a, b);
  const hypothesis: Hypothesis<CategoricalSettings> = { kernel, logPrior: 0 };
  const posterior = computePosterior(known, [hypothesis]);
  return (settings): Normal =>
    differing(reference, settings).length === 0 ? { mean: 0, sd: 1e-3 } : posterior(settings);
}

/**
 * Returns the prior covariance of the effects of two combinations, by the settings in which both
 * differ from the reference in the same way.
 */
function covariance(reference: CategoricalSettings, a: CategoricalSettings, b: CategoricalSettings): number {
  const [ofA, ofB] = [differing(reference, a), differing(reference, b)];
  if (ofA.length === 0 || ofB.length === 0) return 0;
  const shared = ofA.filter((name) => ofB.includes(name) && a.get(name) === b.get(name)).length;
  const alike = shared / Math.sqrt(ofA.length * ofB.length);
  const same = shared === ofA.length && shared === ofB.length ? OWN_SHARE : 0;
  return USUAL_FACTOR ** 2 * ((1 - OWN_SHARE) * alike + same);
}

const counted = new WeakMap<CategoricalSettings, WeakMap<CategoricalSettings, number>>();

/** Returns the number of settings in which the two differ; memoized by identity. */
export function differingCount(a: CategoricalSettings, b: CategoricalSettings): number {
  const ofA = counted.get(a) ?? new WeakMap<CategoricalSettings, number>();
  counted.set(a, ofA);
  const count = ofA.get(b) ?? differing(a, b).length;
  ofA.set(b, count);
  return count;
}

/** Returns the settings in which the two differ, including those that only one has. */
export function differing(a: CategoricalSettings, b: CategoricalSettings): string[] {
  const names = new Set([...a.keys(), ...b.keys()]);
  return [...names].filter((name) => a.get(name) !== b.get(name));
}
