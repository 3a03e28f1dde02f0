import { mean } from 'simple-statistics';
import { canonicalJson } from '#base/json.ts';
import type { Assignment, ParameterValue } from '#space/types.ts';

/** A load that a trial made. */
export interface ObservedLoad {
  readonly assignment: Assignment;
  /** What the server served before; null if it served nothing. */
  readonly before: Assignment | null;
  /** Until the first answers. */
  readonly seconds: number;
}

/** Returns the expected seconds of a load of one assignment where another was served. */
export type LoadTime = (assignment: Assignment, before: Assignment | null) => number;

/**
 * Scatter of the logarithm of the time between loads that have the same work to do: a server's own
 * loads vary by a third, builds of an engine by ten times or more.
 */
const LOAD_SCATTER = 0.3;
/**
 * Seconds of a load that changes a parameter of `change: expensive`, until one has shown it. Users
 * report a minute to ten for the build of an engine.
 */
const SLOW_SECONDS = 60;

type Load = Omit<ObservedLoad, 'seconds'>;

/** One way to tell loads apart: those with the same text take the same time. */
type Trait = (load: Load, earlier: readonly ObservedLoad[]) => string;

/**
 * Fits the time of a load by what it loads: by the value of each parameter, and for `slow`
 * parameters also by whether it changes, and by whether a load had its value before, whose engine
 * may be kept. Each of these explains the loads in its way, by a mean for each value; the
 * prediction is the mean over them, weighted by how well each explains the logarithms (BIC weights:
 * Schwarz 1978, "Estimating the dimension of a model").
 *
 * @param usual seconds of a load while none was observed.
 * @param slow names of parameters whose change is said to be slow.
 */
export function fitLoadTime(loads: readonly ObservedLoad[], usual: number, slow: readonly string[]): LoadTime {
  const names = [...new Set(loads.flatMap(({ assignment }) => Object.keys(assignment)))];
  const traits: readonly Trait[] = [
    () => '',
    ...names.map(valueTrait),
    ...slow.map(changeTrait),
    ...slow.map(noveltyTrait),
  ];
  const otherwise = loads.length > 0 ? mean(loads.map(({ seconds }) => seconds)) : usual;
  const fits = traits.map((trait) => fitTrait(loads, trait, otherwise));
  const best = Math.max(...fits.map(({ logWeight }) => logWeight));
  const weighted = fits.map((fit) => ({ ...fit, weight: Math.exp(fit.logWeight - best) }));
  const total = weighted.reduce((sum, { weight }) => sum + weight, 0);
  const unseen = slow.filter((name) => !loads.some((load) => isChanged(name, load)));
  return (assignment, before) => {
    const fitted = weighted.reduce((sum, { weight, toSeconds }) => sum + weight * toSeconds({ assignment, before }), 0);
    const isSlow = unseen.some((name) => isChanged(name, { assignment, before }));
    return isSlow ? Math.max(SLOW_SECONDS, fitted / total) : fitted / total;
  };
}

const toText = (value: ParameterValue | undefined): string =>
  typeof value === 'object' ? canonicalJson(value) : String(value);

const isSame = (name: string, a: Load, b: Load): boolean => toText(a.assignment[name]) === toText(b.assignment[name]);

const isChanged = (name: string, { assignment, before }: Load): boolean =>
  before !== null && toText(assignment[name]) !== toText(before[name]);

const valueTrait =
  (name: string): Trait =>
  (load) =>
    toText(load.assignment[name]);

const changeTrait =
  (name: string): Trait =>
  (load) =>
    String(isChanged(name, load));

const noveltyTrait =
  (name: string): Trait =>
  (load, earlier) =>
    String(earlier.some((each) => isSame(name, each, load)));

function fitTrait(
  loads: readonly ObservedLoad[],
  trait: Trait,
  otherwise: number,
): { readonly logWeight: number; readonly toSeconds: (load: Load) => number } {
  const groups = new Map<string, number[]>();
  for (const [index, load] of loads.entries()) {
    const key = trait(load, loads.slice(0, index));
    groups.set(key, [...(groups.get(key) ?? []), Math.log(load.seconds)]);
  }
  const means = new Map([...groups].map(([key, logs]) => [key, mean(logs)]));
  const squares = [...groups].flatMap(([key, logs]) => logs.map((log) => (log - (means.get(key) as number)) ** 2));
  const residual = squares.reduce((sum, square) => sum + square, 0);
  const seconds = new Map([...means].map(([key, log]) => [key, Math.exp(log)]));
  return {
    logWeight: -residual / (2 * LOAD_SCATTER ** 2) - ((groups.size - 1) / 2) * Math.log(Math.max(1, loads.length)),
    toSeconds: (load) => seconds.get(trait(load, loads)) ?? otherwise,
  };
}
