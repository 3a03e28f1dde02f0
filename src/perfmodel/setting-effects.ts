import { type Hypothesis, type Normal, type Posterior, posteriorOf, type Reading } from '../stats/gaussian-process.ts';

/** The settings of a model that the queueing model knows nothing of, field by field. */
export type Settings = ReadonlyMap<string, string>;

/** Settings unlike any that were measured may make a model half as fast or twice as fast. */
const USUAL_FACTOR = 0.45;
/** The share of it that is of the combination, not of each setting by itself. */
const OWN_SHARE = 0.2;

/**
 * How many times longer executions take with these settings than with the reference's, as a logarithm. Each setting has an
 * effect of its own, which other measured combinations tell of, and each combination a little besides: one measurement of
 * a setting tells what it does in all combinations.
 */
export function settingFactors(reference: Settings, known: readonly Reading<Settings>[]): Posterior<Settings> {
  const kernel = (a: Settings, b: Settings): number => covariance(reference, a, b);
  const hypothesis: Hypothesis<Settings> = { kernel, logPrior: 0 };
  const posterior = posteriorOf(known, [hypothesis]);
  return (settings): Normal =>
    differing(reference, settings).length === 0 ? { mean: 0, sd: 1e-3 } : posterior(settings);
}

/** Of the effects of two combinations: the settings in which both differ from the reference, and alike. */
function covariance(reference: Settings, a: Settings, b: Settings): number {
  const [ofA, ofB] = [differing(reference, a), differing(reference, b)];
  if (ofA.length === 0 || ofB.length === 0) return 0;
  const shared = ofA.filter((name) => ofB.includes(name) && a.get(name) === b.get(name)).length;
  const alike = shared / Math.sqrt(ofA.length * ofB.length);
  const same = shared === ofA.length && shared === ofB.length ? OWN_SHARE : 0;
  return USUAL_FACTOR ** 2 * ((1 - OWN_SHARE) * alike + same);
}

const counted = new WeakMap<Settings, WeakMap<Settings, number>>();

/** How many they are; kept, because places meet again and again. */
export function differingCount(a: Settings, b: Settings): number {
  const ofA = counted.get(a) ?? new WeakMap<Settings, number>();
  counted.set(a, ofA);
  const count = ofA.get(b) ?? differing(a, b).length;
  ofA.set(b, count);
  return count;
}

/** The settings in which the two are not alike, those that only one has among them. */
export function differing(a: Settings, b: Settings): string[] {
  const names = new Set([...a.keys(), ...b.keys()]);
  return [...names].filter((name) => a.get(name) !== b.get(name));
}
