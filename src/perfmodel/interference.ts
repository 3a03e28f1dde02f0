import type { ServiceLaw } from '#queueing/service-law.ts';
import { type AffineFit, fitLine, interferenceFactor } from './affine-line.ts';
import type { ServicePoint } from './observation.ts';
import { WHOLE, type WithoutParts } from './parts.ts';

/** A mean execution time with the number of instances of its config, busy or not. */
export type ExecutionPoint = ServicePoint & { readonly instances: number };

/**
 * How instances slow each other down: a posterior over interference hypotheses (Bayesian model
 * averaging: Hoeting and others, 1999).
 */
export interface InterferenceModel {
  /**
   * Returns the affine fit for a config with this many instances: the geometric mean over the
   * hypotheses.
   */
  lineFor(instances: number): AffineFit;
  /**
   * Returns the standard deviation over the hypotheses of the logarithm of such an execution's
   * time.
   */
  uncertainty(instances: number, busyInstances: number, batchSize: number): number;
}

type Interference = ServiceLaw['interference'];

/** A hypothesis of interference, before any point is seen. */
interface InterferenceHypothesis {
  readonly interference: Interference;
  /** The number of instances beyond which all of them, busy or idle, share the machine. */
  readonly cores: number;
  readonly logPrior: number;
}

/** A hypothesis with its affine fit and its posterior probability. */
interface FittedHypothesis extends InterferenceHypothesis {
  readonly fixedNs: number;
  readonly perSampleNs: number;
  readonly chance: number;
}

const PER_INSTANCE = [0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.45, 0.7, 1, 1.5, 2.2];
const EXPONENTS = [0, 0.2, 0.4];
const CORES = [Number.POSITIVE_INFINITY, 3.3, 2.8, 2.4, 2, 1.7, 1.45, 1.2, 1];

/** The prior of the slowdown per further busy instance: log-normal around this median, … */
const USUAL_PER_INSTANCE = 0.1;
/** … with this standard deviation. */
const SPREAD_OF_PER_INSTANCE = 1.2;
/**
 * The log prior odds against each step of the exponent: interference that grows with the batch
 * needs evidence.
 */
const SURPRISE_OF_A_STEP = 1;
/**
 * Prior odds (1:25) that idle instances slow others down. With 1:4, searches on the recorded grids
 * were slower to the first good candidate (worst tenth after six measurements 20 % instead of 80,
 * 12 problems), and no better on made-up models (22 problems).
 */
const ODDS_OF_IDLE_INTERFERENCE = 0.04;
/**
 * The relative error of a mean execution time that no hypothesis explains; smaller residuals are no
 * evidence.
 */
const USUAL_MISS = 0.05;
/** Hypotheses with a posterior below this share of the likeliest one's are dropped. */
const MIN_POSTERIOR = 1e-3;
/** The largest exponent of the averaged law. */
const LARGEST_EXPONENT = 0.6;
/** The least share of each part of the affine fit in its time. */
const MIN_SHARE = 1e-3;

const interferences: readonly Interference[] = PER_INSTANCE.flatMap((perInstance) =>
  (perInstance === 0 ? [0] : EXPONENTS).map((batchExponent) => ({ perInstance, batchExponent })),
);

const hypotheses: readonly InterferenceHypothesis[] = CORES.flatMap((cores) =>
  interferences.map((interference) => ({ interference, cores, logPrior: computeLogPrior(interference, cores) })),
);

function computeLogPrior({ perInstance, batchExponent }: Interference, cores: number): number {
  const surprise = Math.log((perInstance + 0.02) / (USUAL_PER_INSTANCE + 0.02)) / SPREAD_OF_PER_INSTANCE;
  const ofCores = Number.isFinite(cores) ? Math.log(ODDS_OF_IDLE_INTERFERENCE / (CORES.length - 1)) : 0;
  return ofCores - surprise ** 2 / 2 - SURPRISE_OF_A_STEP * EXPONENTS.indexOf(batchExponent);
}

/**
 * Returns the slowdown due to the presence of instances, busy or idle: the machine is shared
 * evenly.
 */
const idleInterference = (cores: number, instances: number): number => Math.max(1, instances / cores);

/**
 * Fits the interference of instances. Four instances may be slow because they are busy or because
 * they exist, and the cause decides the speed of two. So every hypothesis that explains the points
 * is kept, weighted by Bayes' rule over a grid of hypotheses. Needs at least one point.
 */
export function averagedInterference(
  points: readonly ExecutionPoint[],
  without: WithoutParts = WHOLE,
): InterferenceModel {
  const fits = fittedHypotheses(points, without);
  const geometric = (of: (fit: FittedHypothesis) => number): number =>
    Math.exp(fits.reduce((sum, fit) => sum + fit.chance * Math.log(of(fit)), 0));
  const line = meanLine(geometric, Math.max(8, ...points.map(({ batchSize }) => batchSize)));
  return {
    lineFor(instances) {
      const longer = geometric(({ cores }) => idleInterference(cores, instances));
      return { ...line, fixedNs: line.fixedNs * longer, perSampleNs: line.perSampleNs * longer };
    },
    uncertainty(instances, busyInstances, batchSize) {
      const logs = fits.map(
        ({ fixedNs, perSampleNs, cores, interference }) =>
          Math.log(fixedNs + perSampleNs * batchSize) +
          Math.log(idleInterference(cores, instances) * interferenceFactor(interference, { batchSize, busyInstances })),
      );
      const mean = fits.reduce((sum, { chance }, index) => sum + chance * (logs[index] as number), 0);
      return Math.sqrt(
        fits.reduce((sum, { chance }, index) => sum + chance * ((logs[index] as number) - mean) ** 2, 0),
      );
    },
  };
}

/** Interferences per instance to try first, and factors around the best of them. */
const ROUGH = [0, 0.05, 0.15, 0.3, 0.5, 0.8, 1.2, 1.8];
const FINER = [0.8, 0.9, 1.12, 1.25];

/** The slowdown of a stage's instances by each other, separate from the effect of other stages. */
export interface OwnInterference {
  readonly interference: Interference;
  /** The largest logarithm of a posterior, up to a constant. */
  readonly evidence: number;
}

/**
 * Fits the interference of a stage's own instances if others slow them too. `added`: for each point
 * the slowdown by the others, in times of a lone execution. A fine grid, because a coarse one
 * leaves residuals that would be blamed on the others.
 */
export function ownInterference(points: readonly ExecutionPoint[], added: readonly number[]): OwnInterference {
  const explain = (perInstance: number, batchExponent: number): OwnInterference => {
    const interference = { perInstance, batchExponent };
    const factors = points.map((point, index) => interferenceFactor(interference, point) + (added[index] as number));
    const misfit = fitLine(points, factors).loss / (2 * USUAL_MISS ** 2);
    return { interference, evidence: computeLogPrior(interference, Number.POSITIVE_INFINITY) - misfit };
  };
  const best = (all: readonly OwnInterference[]): OwnInterference =>
    all.reduce((most, each) => (each.evidence > most.evidence ? each : most));
  const rough = best(ROUGH.map((perInstance) => explain(perInstance, 0)));
  const { perInstance } = rough.interference;
  if (perInstance === 0) return rough;
  const fine = best([rough, ...FINER.map((factor) => explain(perInstance * factor, 0))]);
  return best([fine, ...EXPONENTS.slice(1).map((exponent) => explain(fine.interference.perInstance, exponent))]);
}

/** Returns the hypotheses of the grid. */
function hypothesesWith(without: WithoutParts): readonly InterferenceHypothesis[] {
  const some =
    without.has('idle-interference') || without.has('interference')
      ? hypotheses.filter(({ cores }) => cores === CORES[0])
      : hypotheses;
  const isUsual = ({ perInstance, batchExponent }: Interference): boolean =>
    perInstance === USUAL_PER_INSTANCE && batchExponent === 0;
  return without.has('interference') ? some.filter(({ interference }) => isUsual(interference)) : some;
}

function fittedHypotheses(points: readonly ExecutionPoint[], without: WithoutParts): readonly FittedHypothesis[] {
  const present = new Map(
    CORES.map((cores) => [cores, points.map(({ instances }) => idleInterference(cores, instances))]),
  );
  const busy = new Map(interferences.map((each) => [each, points.map((point) => interferenceFactor(each, point))]));
  const fits = hypothesesWith(without).map((hypothesis) => {
    const ofBusy = busy.get(hypothesis.interference) as number[];
    const factors = (present.get(hypothesis.cores) as number[]).map(
      (factor, index) => factor * (ofBusy[index] as number),
    );
    return { ...hypothesis, ...fitLine(points, factors) };
  });
  const least = Math.min(...fits.map(({ loss }) => loss));
  const weight = points.reduce((sum, point) => sum + point.weight, 0);
  const variance = Math.max(USUAL_MISS ** 2, least / Math.max(1, weight));
  const evidence = fits.map(({ loss, logPrior }) => logPrior - loss / (2 * variance));
  const most = Math.max(...evidence);
  const likely = fits
    .map((fit, index) => ({ ...fit, chance: Math.exp((evidence[index] as number) - most) }))
    .filter(({ chance }) => chance >= (without.has('averaging') ? 1 : MIN_POSTERIOR));
  const total = likely.reduce((sum, { chance }) => sum + chance, 0);
  return likely.map((fit) => ({ ...fit, chance: fit.chance / total }));
}

/**
 * Returns an affine fit through the geometric means at batch sizes 1 and `large`, for a lone
 * instance and one with another busy instance.
 */
function meanLine(geometric: (of: (fit: FittedHypothesis) => number) => number, large: number): AffineFit {
  const aloneNs = (batchSize: number): number =>
    geometric(({ fixedNs, perSampleNs }) => fixedNs + perSampleNs * batchSize);
  const slowdown = (batchSize: number): number =>
    geometric(({ interference }) => interferenceFactor(interference, { batchSize, busyInstances: 2 })) - 1;
  const oneNs = aloneNs(1);
  const perSampleNs = Math.max(MIN_SHARE * oneNs, (aloneNs(large) - oneNs) / (large - 1));
  const perInstance = slowdown(1);
  const exponent = perInstance > 0 ? Math.log(slowdown(large) / perInstance) / Math.log(large) : 0;
  return {
    fixedNs: Math.max(MIN_SHARE * oneNs, oneNs - perSampleNs),
    perSampleNs,
    interference: { perInstance, batchExponent: Math.min(LARGEST_EXPONENT, Math.max(0, exponent)) },
  };
}
