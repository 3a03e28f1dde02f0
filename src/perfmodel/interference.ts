import { type AffineFit, fitLine, interferenceFactor } from '../queueing/fit-affine.ts';
import type { ServicePoint } from '../queueing/observation.ts';
import type { ServiceLaw } from '../queueing/service-law.ts';
import { WHOLE, type WithoutParts } from './parts.ts';

/**
 * A mean execution time; how many instances its choice has, busy or not: some models are slower for those that only wait; and how many
 * requests the executions around it were of, on average.
 */
export type Point = ServicePoint & { readonly instances: number; readonly company: number };

/** What executes around it is of one request, or hardly of more. */
export const isAmongSingles = ({ company }: Point): boolean => company <= 1.2;

/** How instances slow each other: all ways in which they may, each as likely as it explains the points (Bayesian model averaging). */
export interface InterferenceModel {
  /** For a model with so many instances: the geometric mean over the ways. */
  lineFor(instances: number): AffineFit;
  /** How far the ways are apart about such an execution: a logarithm's standard deviation. */
  uncertainty(instances: number, busyInstances: number, batchSize: number): number;
}

type Interference = ServiceLaw['interference'];

/** A way of being crowded, before any point is seen. */
interface Way {
  readonly interference: Interference;
  /** More instances than this share what there is, whether they are busy or wait. */
  readonly cores: number;
  readonly logPrior: number;
}

/** A way with the line that explains the points best. */
interface Law extends Way {
  readonly fixedNs: number;
  readonly perSampleNs: number;
  readonly chance: number;
}

const PER_INSTANCE = [0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.45, 0.7, 1, 1.5, 2.2];
const EXPONENTS = [0, 0.2, 0.4];
const CORES = [Number.POSITIVE_INFINITY, 3.3, 2.8, 2.4, 2, 1.7, 1.45, 1.2, 1];

/** One more busy instance costs a tenth, give or take so much as a logarithm. */
const USUAL_PER_INSTANCE = 0.1;
const SPREAD_OF_PER_INSTANCE = 1.2;
/** Of a log-likelihood, for each step of the exponents: that larger batches crowd each other more must be seen. */
const SURPRISE_OF_A_STEP = 1;
/** That instances take anything while they wait, to one that they do not. */
const ODDS_OF_FEW_CORES = 0.25;
/** What no law explains of a mean time: smaller misses are no evidence. */
const USUAL_MISS = 0.05;
/** Ways far less likely than the likeliest are left out. */
const LEAST_CHANCE = 1e-3;
/** Of the mean law: larger batches would all be at the largest interference there is. */
const LARGEST_EXPONENT = 0.6;
/** A line's parts are at least this share of its time. */
const LEAST_SHARE = 1e-3;

const interferences: readonly Interference[] = PER_INSTANCE.flatMap((perInstance) =>
  (perInstance === 0 ? [0] : EXPONENTS).map((batchExponent) => ({ perInstance, batchExponent })),
);

const ways: readonly Way[] = CORES.flatMap((cores) =>
  interferences.map((interference) => ({ interference, cores, logPrior: logPriorOf(interference, cores) })),
);

function logPriorOf({ perInstance, batchExponent }: Interference, cores: number): number {
  const surprise = Math.log((perInstance + 0.02) / (USUAL_PER_INSTANCE + 0.02)) / SPREAD_OF_PER_INSTANCE;
  const ofCores = Number.isFinite(cores) ? Math.log(ODDS_OF_FEW_CORES / (CORES.length - 1)) : 0;
  return ofCores - surprise ** 2 / 2 - SURPRISE_OF_A_STEP * EXPONENTS.indexOf(batchExponent);
}

/** How much longer than alone, with so many instances there: what there is is shared evenly. */
const ofPresence = (cores: number, instances: number): number => Math.max(1, instances / cores);

/**
 * Four instances that are slow may be so because they are busy or because they are there: which of it, decides what two of
 * them do. Rather than to settle on one way, all are kept that explain the points, Bayes' rule over a grid. Needs one point at least.
 */
export function averagedInterference(points: readonly Point[], without: WithoutParts = WHOLE): InterferenceModel {
  const laws = lawsBehind(points, without);
  const geometric = (of: (law: Law) => number): number =>
    Math.exp(laws.reduce((sum, law) => sum + law.chance * Math.log(of(law)), 0));
  const line = meanLine(geometric, Math.max(8, ...points.map(({ batchSize }) => batchSize)));
  return {
    lineFor(instances) {
      const longer = geometric(({ cores }) => ofPresence(cores, instances));
      return { ...line, fixedNs: line.fixedNs * longer, perSampleNs: line.perSampleNs * longer };
    },
    uncertainty(instances, busyInstances, batchSize) {
      const logs = laws.map(
        ({ fixedNs, perSampleNs, cores, interference }) =>
          Math.log(fixedNs + perSampleNs * batchSize) +
          Math.log(ofPresence(cores, instances) * interferenceFactor(interference, { batchSize, busyInstances })),
      );
      const mean = laws.reduce((sum, { chance }, index) => sum + chance * (logs[index] as number), 0);
      return Math.sqrt(
        laws.reduce((sum, { chance }, index) => sum + chance * ((logs[index] as number) - mean) ** 2, 0),
      );
    },
  };
}

/** The ways that are looked at. */
function waysWith(without: WithoutParts): readonly Way[] {
  const some =
    without.has('presence') || without.has('interference') ? ways.filter(({ cores }) => cores === CORES[0]) : ways;
  const isUsual = ({ perInstance, batchExponent }: Interference): boolean =>
    perInstance === USUAL_PER_INSTANCE && batchExponent === 0;
  return without.has('interference') ? some.filter(({ interference }) => isUsual(interference)) : some;
}

function lawsBehind(points: readonly Point[], without: WithoutParts): readonly Law[] {
  const present = new Map(CORES.map((cores) => [cores, points.map(({ instances }) => ofPresence(cores, instances))]));
  const busy = new Map(interferences.map((each) => [each, points.map((point) => interferenceFactor(each, point))]));
  const fits = waysWith(without).map((way) => {
    const ofBusy = busy.get(way.interference) as number[];
    const factors = (present.get(way.cores) as number[]).map((factor, index) => factor * (ofBusy[index] as number));
    return { ...way, ...fitLine(points, factors) };
  });
  const least = Math.min(...fits.map(({ loss }) => loss));
  const weight = points.reduce((sum, point) => sum + point.weight, 0);
  const variance = Math.max(USUAL_MISS ** 2, least / Math.max(1, weight));
  const evidence = fits.map(({ loss, logPrior }) => logPrior - loss / (2 * variance));
  const most = Math.max(...evidence);
  const likely = fits
    .map((fit, index) => ({ ...fit, chance: Math.exp((evidence[index] as number) - most) }))
    .filter(({ chance }) => chance >= (without.has('averaging') ? 1 : LEAST_CHANCE));
  const total = likely.reduce((sum, { chance }) => sum + chance, 0);
  return likely.map((law) => ({ ...law, chance: law.chance / total }));
}

/** Through the geometric means at a batch of one and a large one, alone and beside another. */
function meanLine(geometric: (of: (law: Law) => number) => number, large: number): AffineFit {
  const aloneNs = (batchSize: number): number =>
    geometric(({ fixedNs, perSampleNs }) => fixedNs + perSampleNs * batchSize);
  const slowdown = (batchSize: number): number =>
    geometric(({ interference }) => interferenceFactor(interference, { batchSize, busyInstances: 2 })) - 1;
  const oneNs = aloneNs(1);
  const perSampleNs = Math.max(LEAST_SHARE * oneNs, (aloneNs(large) - oneNs) / (large - 1));
  const perInstance = slowdown(1);
  const exponent = perInstance > 0 ? Math.log(slowdown(large) / perInstance) / Math.log(large) : 0;
  return {
    fixedNs: Math.max(LEAST_SHARE * oneNs, oneNs - perSampleNs),
    perSampleNs,
    interference: { perInstance, batchExponent: Math.min(LARGEST_EXPONENT, Math.max(0, exponent)) },
  };
}
