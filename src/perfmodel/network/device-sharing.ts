import type { ServiceLaw } from '#queueing/service-law.ts';
import { interferenceFactor } from '../affine-line.ts';
import { type ExecutionPoint, ownInterference } from '../interference.ts';
import type { Choice } from '../modelled-config.ts';

/**
 * The slowdown of stages on one device by each other: as `Device` of the queueing room, with a
 * share for each stage.
 */
export interface SharingHypothesis {
  readonly interference: number;
  readonly shares: ReadonlyMap<string, number>;
  readonly logPrior: number;
}

/** The executions on a device at one moment or on average, by stage. */
export interface Running {
  readonly instances: number;
  /** Mean number of instances that execute. */
  readonly mean: number;
}

/**
 * Mean execution times of a stage in one measurement, with the executions of other stages on its
 * device meanwhile.
 */
export interface SharedPoints {
  readonly stage: string;
  readonly points: readonly ExecutionPoint[];
  readonly beside: ReadonlyMap<string, Running>;
  /** Requests in flight in total; one of them meets only the others. */
  readonly inFlight: number;
}

/**
 * A hypothesis with its posterior probability, and its reduction of each stage's mean execution
 * time, as a logarithm.
 */
interface Weighed extends SharingHypothesis {
  readonly chance: number;
  readonly base: ReadonlyMap<string, number>;
}

/**
 * The sharing of a device by its stages: the likeliest hypothesis, and the differences between the
 * likely ones.
 */
export interface Sharing {
  readonly likeliest: SharingHypothesis;
  /** The slowdown of each stage's instances by each other, by that hypothesis. */
  readonly interferenceByStage: ReadonlyMap<string, ServiceLaw['interference']>;
  /**
   * The standard deviation over the hypotheses of the logarithm of an execution's time while these
   * run.
   */
  uncertainty(stage: string, beside: ReadonlyMap<string, Running>, inFlight: number): number;
}

/** The kind of device, which determines the prior of the interference between stages on it. */
export type DeviceKind = 'gpu' | 'cpu';

/**
 * Returns where a choice executes; equal texts for stages on the same device. A device chosen by
 * the server counts as the CPU.
 */
export function toDevice({ candidate: { shape } }: Choice): { readonly name: string; readonly kind: DeviceKind } {
  const gpu = shape.groups.find(({ device }) => device === 'gpu');
  return gpu ? { name: `gpu ${gpu.place}`, kind: 'gpu' } : { name: 'cpu', kind: 'cpu' };
}

/** The interferences of a GPU: from none to more than time slices would give. */
const GPU_INTERFERENCES = [0, 0.15, 0.3, 0.5, 0.7, 0.85, 1, 1.2];
const USUAL_ON_GPU = 0.8;
const SPREAD_ON_GPU = 0.45;
/** The share of a GPU that an execution takes, with the log prior odds against each. */
const GPU_SHARES: readonly (readonly [share: number, surprise: number])[] = [
  [1, 0],
  [0.75, 0.3],
  [0.5, 0.7],
  [0.3, 1.5],
];
/**
 * Cores that executions share evenly, with the log prior odds against each; Infinity: executions
 * hardly use the CPU.
 */
const CORES: readonly (readonly [cores: number, surprise: number])[] = [
  [1, 1.2],
  [1.5, 1],
  [2, 0.5],
  [3, 0.3],
  [4, 0],
  [6, 0.2],
  [8, 0.2],
  [12, 0.5],
  [16, 0.5],
  [Number.POSITIVE_INFINITY, 0.7],
];
/**
 * Shares to try for a single stage, with the interferences next to the best one, and the log prior
 * odds against that.
 */
const OWN_SHARES = [0.15, 0.25, 0.35, 0.5, 0.6, 0.7, 0.8, 0.9, 1];
const OTHER_INTERFERENCES = [0.8, 0.9, 1, 1.12, 1.25];
const SURPRISE_OF_OWN_SHARE = 0.7;
const SWEEPS = 2;
/** Hypotheses with a posterior below this share of the likeliest one's are dropped. */
const MIN_POSTERIOR = 1e-2;
/** The most hypotheses that are kept. */
const MAX_LIKELY = 12;
/**
 * The least log evidence per weight of points: if no hypothesis explains the points better, all of
 * them count less.
 */
const MIN_EVIDENCE = 0.5;

/** A hypothesis with the quality of its explanation of the points. */
interface Explained {
  readonly hypothesis: SharingHypothesis;
  readonly evidence: number;
  readonly interferenceByStage: Sharing['interferenceByStage'];
}

/**
 * Fits the slowdown of stages on a device by each other. The hypothesis wins whose remaining
 * execution times are best explained by batch size and the stage's own instances.
 */
export function fitSharing(kind: DeviceKind, stages: readonly string[], seen: readonly SharedPoints[]): Sharing {
  const sharedPoints = seen.filter(({ stage, points }) => stages.includes(stage) && points.length > 0);
  const weight = sharedPoints.reduce(
    (sum, { points }) => sum + points.reduce((total, point) => total + point.weight, 0),
    0,
  );
  const overs = createOverload(sharedPoints);
  const explain = (hypothesis: SharingHypothesis): Explained => explained(hypothesis, sharedPoints, overs);
  const tried = hypothesesFor(kind, stages).map(explain);
  const temper = Math.min(
    1,
    (MIN_EVIDENCE * weight) / Math.max(1e-9, -Math.max(...tried.map(({ evidence }) => evidence))),
  );
  const plausibility = ({ hypothesis, evidence }: Explained): number => hypothesis.logPrior + temper * evidence;
  const findBest = (): Explained =>
    tried.reduce((best, each) => (plausibility(each) > plausibility(best) ? each : best));
  // The share of the best hypothesis is changed one stage at a time, because all combinations would
  // be too many.
  for (let sweep = 0; sweep < (weight > 0 ? SWEEPS : 0); sweep++)
    for (const stage of stages) tried.push(...listVariants(findBest().hypothesis, stage, kind).map(explain));
  const best = findBest();
  const distinct = new Map(tried.map((each) => [toKey(each.hypothesis), each]));
  const likely = [...distinct.values()]
    .map((each) => ({
      ...each.hypothesis,
      chance: Math.exp(plausibility(each) - plausibility(best)),
      own: each.interferenceByStage,
    }))
    .filter(({ chance }) => chance >= MIN_POSTERIOR)
    .sort((a, b) => b.chance - a.chance)
    .slice(0, MAX_LIKELY);
  const total = likely.reduce((sum, { chance }) => sum + chance, 0);
  const weighed = likely.map(({ own, ...hypothesis }): Weighed => {
    const base = stages.map(
      (stage) =>
        [
          stage,
          meanStretch(
            hypothesis,
            own,
            sharedPoints.filter((each) => each.stage === stage),
          ),
        ] as const,
    );
    return { ...hypothesis, chance: hypothesis.chance / total, base: new Map(base) };
  });
  return {
    likeliest: best.hypothesis,
    interferenceByStage: best.interferenceByStage,
    uncertainty(stage, beside, inFlight) {
      if (weighed.length < 2) return 0;
      const logs = weighed.map(
        ({ interference, shares, base }) =>
          Math.log(1 + interference * overload(shares, stage, beside, inFlight)) - (base.get(stage) ?? 0),
      );
      const mean = weighed.reduce((sum, { chance }, index) => sum + chance * (logs[index] as number), 0);
      return Math.sqrt(
        weighed.reduce((sum, { chance }, index) => sum + chance * ((logs[index] as number) - mean) ** 2, 0),
      );
    },
  };
}

const toKey = ({ interference, shares }: SharingHypothesis): string =>
  `${interference} ${[...shares.values()].join(' ')}`;

/**
 * Returns the hypothesis with other shares of one stage, each with some interferences; for cores
 * the interferences are known.
 */
function listVariants(hypothesis: SharingHypothesis, stage: string, kind: DeviceKind): SharingHypothesis[] {
  const { interference, shares, logPrior } = hypothesis;
  const usual = shares.get(stage) ?? 1;
  const tried =
    kind === 'gpu' ? OWN_SHARES : [0.5, 0.7, 1.4, 2].map((factor) => usual * factor).filter((share) => share <= 1);
  const factors = kind === 'gpu' ? OTHER_INTERFERENCES : [1];
  return tried.flatMap((share) =>
    factors.map((factor) => ({
      interference: interference * factor,
      shares: new Map([...shares, [stage, share]]),
      logPrior: logPrior - (share === usual ? 0 : SURPRISE_OF_OWN_SHARE) - Math.abs(Math.log(factor)),
    })),
  );
}

function hypothesesFor(kind: DeviceKind, stages: readonly string[]): readonly SharingHypothesis[] {
  const alike = (share: number): SharingHypothesis['shares'] => new Map(stages.map((stage) => [stage, share]));
  if (kind === 'cpu')
    return CORES.map(([cores, surprise]) => ({
      interference: Number.isFinite(cores) ? 1 : 0,
      shares: alike(Math.min(1, 1 / Math.min(cores, 64))),
      logPrior: -surprise,
    }));
  return GPU_INTERFERENCES.flatMap((interference) =>
    (interference === 0 ? GPU_SHARES.slice(0, 1) : GPU_SHARES).map(([share, surprise]) => ({
      interference,
      shares: alike(share),
      logPrior: -surprise - ((interference - USUAL_ON_GPU) / SPREAD_ON_GPU) ** 2 / 2,
    })),
  );
}

/**
 * Returns the load of the others beyond the whole device, by shares; computed once for hypotheses
 * that differ only in interference.
 */
function createOverload(
  sharedPoints: readonly SharedPoints[],
): (shares: SharingHypothesis['shares']) => readonly number[] {
  const known = new Map<string, readonly number[]>();
  return (shares) => {
    const key = [...shares.values()].join(' ');
    const overs =
      known.get(key) ?? sharedPoints.map(({ stage, beside, inFlight }) => overload(shares, stage, beside, inFlight));
    known.set(key, overs);
    return overs;
  };
}

/**
 * Explains all stages' execution times: by their own instances, and by the effect of others under
 * the hypothesis.
 */
function explained(
  hypothesis: SharingHypothesis,
  sharedPoints: readonly SharedPoints[],
  oversWith: (shares: SharingHypothesis['shares']) => readonly number[],
): Explained {
  const overs = oversWith(hypothesis.shares);
  const byStage = Map.groupBy(
    sharedPoints.map((each, index) => ({ ...each, added: hypothesis.interference * (overs[index] as number) })),
    ({ stage }) => stage,
  );
  const shared = [...byStage].map(([stage, all]) => {
    const added = all.flatMap((each) => each.points.map(() => each.added));
    return [
      stage,
      ownInterference(
        all.flatMap(({ points }) => points),
        added,
      ),
    ] as const;
  });
  return {
    hypothesis,
    evidence: shared.reduce((sum, [, { evidence }]) => sum + evidence, 0),
    interferenceByStage: new Map(shared.map(([stage, { interference }]) => [stage, interference])),
  };
}

/**
 * Returns the ratio of a stage's execution times with others to those without, given the time that
 * the others add to a lone execution.
 */
export function computeStretch(
  { interference, shares }: SharingHypothesis,
  ownInterference: ServiceLaw['interference'] | undefined,
  { stage, beside, inFlight, points }: SharedPoints,
): number {
  const [point] = points;
  const ownFactor =
    ownInterference && point
      ? interferenceFactor(ownInterference, { batchSize: 1, busyInstances: point.busyInstances })
      : 1;
  return 1 + (interference * overload(shares, stage, beside, inFlight)) / ownFactor;
}

function meanStretch(
  hypothesis: SharingHypothesis,
  stageShares: Sharing['interferenceByStage'],
  sharedPoints: readonly SharedPoints[],
): number {
  let [sum, total] = [0, 0];
  for (const each of sharedPoints) {
    const weight = each.points.reduce((all, point) => all + point.weight, 0);
    sum += weight * Math.log(computeStretch(hypothesis, stageShares.get(each.stage), each));
    total += weight;
  }
  return total > 0 ? sum / total : 0;
}

/**
 * Returns the mean load beyond the whole device that other stages cause while one of this stage
 * runs, over the binomial distributions of running executions. An execution of a closed loop sees
 * the others with one request fewer in flight.
 */
export function overload(
  shares: SharingHypothesis['shares'],
  stage: string,
  beside: ReadonlyMap<string, Running>,
  inFlight: number,
): number {
  const running = beside.get(stage);
  const share = shares.get(stage);
  if (!running || share === undefined) return 0;
  const without = Math.max(0, 1 - 1 / Math.max(1, inFlight));
  let others: Mass[] = [{ load: 0, chance: 1 }];
  for (const [other, { instances, mean }] of beside) {
    const each = shares.get(other);
    if (other === stage || each === undefined || mean <= 0) continue;
    others = added(others, binomial(instances, Math.min(1, (mean * without) / instances)), each);
  }
  const busy = running.instances > 1 ? Math.min(1, Math.max(0, running.mean * without) / running.instances) : 0;
  let over = 0;
  for (const [more, chance] of binomial(running.instances - 1, busy).entries()) {
    const load = share * (1 + more);
    for (const each of others)
      over += chance * each.chance * (Math.max(0, load + each.load - 1) - Math.max(0, load - 1));
  }
  return over;
}

/** A part of a distribution of loads. */
interface Mass {
  readonly load: number;
  readonly chance: number;
}

/** Loads closer than this count as one. */
const SAME_LOAD = 0.05;

function added(loads: readonly Mass[], counts: readonly number[], share: number): Mass[] {
  const sums = new Map<number, Mass>();
  for (const { load, chance } of loads)
    for (const [count, likely] of counts.entries()) {
      const sum = load + count * share;
      const key = Math.round(sum / SAME_LOAD);
      const known = sums.get(key);
      sums.set(key, { load: known?.load ?? sum, chance: (known?.chance ?? 0) + chance * likely });
    }
  return [...sums.values()].filter(({ chance }) => chance > 1e-6);
}

/** Returns the chances of 0 to `count` successes. */
function binomial(count: number, chance: number): number[] {
  let row = [1];
  for (let trial = 0; trial < count; trial++)
    row = [...row, 0].map((_, successes) => (row[successes] ?? 0) * (1 - chance) + (row[successes - 1] ?? 0) * chance);
  return row;
}
