import { evidenceOf, type Point } from '../interference.ts';
import type { Choice } from '../modelled-config.ts';

/** How stages on one device slow each other: as `Device` of the queueing room, with a share of each stage. */
export interface SharingHypothesis {
  readonly interference: number;
  readonly shares: ReadonlyMap<string, number>;
  readonly logPrior: number;
}

/** What runs on a device at one moment or on average, by stage. */
export interface Running {
  readonly instances: number;
  /** Mean number of instances that execute. */
  readonly mean: number;
}

/** Mean execution times of a stage, with what ran beside them. */
export interface SharedPoints {
  readonly stage: string;
  readonly points: readonly Point[];
  readonly beside: ReadonlyMap<string, Running>;
  /** Requests in flight over all; one of them meets the others only. */
  readonly inFlight: number;
  /** How much executions of its own stage lengthen one of its executions. */
  readonly ownFactor: number;
}

/** A hypothesis with its posterior probability, and what it takes off the mean execution time of each stage, as a logarithm. */
interface Weighed extends SharingHypothesis {
  readonly chance: number;
  readonly base: ReadonlyMap<string, number>;
}

/** How stages share a device: the likeliest hypothesis, and how far the likely ones differ. */
export interface Sharing {
  readonly likeliest: SharingHypothesis;
  /** The standard deviation over the hypotheses of the logarithm of an execution's time beside these. */
  uncertainty(stage: string, beside: ReadonlyMap<string, Running>, inFlight: number): number;
}

/** What a device is: for the prior of what stages do to each other on it. */
export type DeviceKind = 'gpu' | 'cpu';

/** Returns where a choice executes; texts that are equal for stages on the same device. What the server decides counts as the CPU. */
export function deviceOf({ candidate: { shape } }: Choice): { readonly name: string; readonly kind: DeviceKind } {
  const gpu = shape.groups.find(({ device }) => device === 'gpu');
  return gpu ? { name: `gpu ${gpu.place}`, kind: 'gpu' } : { name: 'cpu', kind: 'cpu' };
}

/** The interferences of a GPU: none, up to more than time slices would give. */
const GPU_INTERFERENCES = [0, 0.15, 0.3, 0.5, 0.7, 0.85, 1, 1.2];
const USUAL_ON_GPU = 0.8;
const SPREAD_ON_GPU = 0.45;
/** The part of a GPU that an execution takes, with the log prior odds against each. */
const GPU_SHARES: readonly (readonly [share: number, surprise: number])[] = [
  [1, 0],
  [0.75, 0.3],
  [0.5, 0.7],
  [0.3, 1.5],
];
/** Cores that executions share evenly, with the log prior odds against each; Infinity: what runs on the CPU hardly uses it. */
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
/** Changes of one stage's share that are tried on the best hypothesis, and the log prior odds against each. */
const OWN_SHARES = [0.4, 0.6, 0.8, 1.25, 1.7, 2.5];
const SURPRISE_OF_OWN_SHARE = 0.7;
/** Hypotheses with a posterior below this share of the likeliest one's are dropped. */
const LEAST_POSTERIOR = 1e-2;
/** The least log evidence per weight of points: where no hypothesis explains the points better, all of them count less. */
const LEAST_EVIDENCE = 0.5;

/** Fits how the stages on a device slow each other, by which hypothesis leaves execution times that batch size and own instances explain best. */
export function sharingOf(kind: DeviceKind, stages: readonly string[], seen: readonly SharedPoints[]): Sharing {
  const own = seen.filter(({ stage, points }) => stages.includes(stage) && points.length > 0);
  const weight = own.reduce((sum, { points }) => sum + points.reduce((total, point) => total + point.weight, 0), 0);
  const scored = hypothesesFor(kind, stages).map((each) => ({ hypothesis: each, evidence: explained(each, own) }));
  const bestOf = () => scored.reduce((best, each) => (valueOf(each) > valueOf(best) ? each : best));
  const temper = Math.min(1, (LEAST_EVIDENCE * weight) / Math.max(1e-9, -Math.max(...scored.map(({ evidence }) => evidence))));
  const valueOf = ({ hypothesis, evidence }: (typeof scored)[number]): number => hypothesis.logPrior + temper * evidence;
  // One stage after the other, the share of the best hypothesis is changed: all combinations would be too many.
  for (const stage of weight > 0 ? stages : []) {
    const { hypothesis } = bestOf();
    for (const factor of OWN_SHARES) {
      const share = (hypothesis.shares.get(stage) ?? 0) * factor;
      if (share > 1 || share <= 0) continue;
      const changed = {
        ...hypothesis,
        shares: new Map([...hypothesis.shares, [stage, share]]),
        logPrior: hypothesis.logPrior - SURPRISE_OF_OWN_SHARE - Math.abs(Math.log(factor)) / 2,
      };
      scored.push({ hypothesis: changed, evidence: explained(changed, own) });
    }
  }
  const most = valueOf(bestOf());
  const likely = scored
    .map((each) => ({ ...each, chance: Math.exp(valueOf(each) - most) }))
    .filter(({ chance }) => chance >= LEAST_POSTERIOR);
  const total = likely.reduce((sum, { chance }) => sum + chance, 0);
  const weighed = likely.map(({ hypothesis, chance }): Weighed => ({
    ...hypothesis,
    chance: chance / total,
    base: new Map(stages.map((stage) => [stage, meanStretch(hypothesis, own.filter((each) => each.stage === stage))])),
  }));
  return {
    likeliest: bestOf().hypothesis,
    uncertainty(stage, beside, inFlight) {
      if (weighed.length < 2) return 0;
      const logs = weighed.map(
        (each) => Math.log(expectedStretch(each, stage, beside, inFlight, 1)) - (each.base.get(stage) ?? 0),
      );
      const mean = weighed.reduce((sum, { chance }, index) => sum + chance * (logs[index] as number), 0);
      return Math.sqrt(weighed.reduce((sum, { chance }, index) => sum + chance * ((logs[index] as number) - mean) ** 2, 0));
    },
  };
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

/** Returns the log evidence of all stages' execution times without what the hypothesis puts down to others. */
function explained(hypothesis: SharingHypothesis, seen: readonly SharedPoints[]): number {
  const byStage = Map.groupBy(seen, ({ stage }) => stage);
  return [...byStage.values()].reduce((sum, own) => {
    const points = own.flatMap((each) => {
      const stretch = stretchIn(hypothesis, each);
      return each.points.map((point) => ({ ...point, executionNs: point.executionNs / stretch }));
    });
    return sum + evidenceOf(points);
  }, 0);
}

/** Returns how much others lengthened the executions of a measurement by the hypothesis. */
export const stretchIn = (
  hypothesis: SharingHypothesis,
  { stage, beside, inFlight, ownFactor }: Omit<SharedPoints, 'points'>,
): number => expectedStretch(hypothesis, stage, beside, inFlight, ownFactor);

function meanStretch(hypothesis: SharingHypothesis, seen: readonly SharedPoints[]): number {
  let [sum, total] = [0, 0];
  for (const each of seen) {
    const weight = each.points.reduce((all, point) => all + point.weight, 0);
    sum += weight * Math.log(stretchIn(hypothesis, each));
    total += weight;
  }
  return total > 0 ? sum / total : 0;
}

/**
 * Returns the mean factor by which the stages beside it lengthen an execution: as the simulation's device does it, over the binomial distributions of
 * what runs. An execution of a closed loop meets the others as they are with one request fewer in flight.
 */
export function expectedStretch(
  { interference, shares }: SharingHypothesis,
  stage: string,
  beside: ReadonlyMap<string, Running>,
  inFlight: number,
  ownFactor: number,
): number {
  const own = beside.get(stage);
  const share = shares.get(stage);
  if (interference === 0 || !own || share === undefined) return 1;
  const without = Math.max(0, 1 - 1 / Math.max(1, inFlight));
  let others: Mass[] = [{ load: 0, chance: 1 }];
  for (const [other, { instances, mean }] of beside) {
    const each = shares.get(other);
    if (other === stage || each === undefined || mean <= 0) continue;
    others = added(others, binomial(instances, Math.min(1, (mean * without) / instances)), each);
  }
  const busy = own.instances > 1 ? Math.min(1, Math.max(0, own.mean * without) / own.instances) : 0;
  const mine = binomial(own.instances - 1, busy);
  let over = 0;
  for (const [more, chance] of mine.entries()) {
    const load = share * (1 + more);
    for (const each of others)
      over += chance * each.chance * (Math.max(0, load + each.load - 1) - Math.max(0, load - 1));
  }
  return 1 + (interference * over) / ownFactor;
}

/** A part of a distribution of loads. */
interface Mass {
  readonly load: number;
  readonly chance: number;
}

/** Loads closer than this are one. */
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
