import type { Step } from '#queueing/network/types.ts';
import { executionNs } from '#queueing/service-law.ts';
import type { Choice } from '../modelled-config.ts';
import type { BoundLimits } from '../service-model.ts';
import { type SharingHypothesis, toDevice } from './device-sharing.ts';
import type { FittedNetwork } from './fit-network.ts';
import { type NetworkParameters, stageLaw } from './network-of.ts';

/** The shares of their largest batches that stages execute at once, in turn. */
const FILLS = [1, 0.5, 0.25, 0.125, 1 / 16, 1 / 32, 1 / 64];
/**
 * Capacities are compared with a limit on latency at this multiple of the time in execution:
 * requests wait as well.
 */
const WAITING = 1.3;
const HALVINGS = 18;

/** The need of one request of the mix for a stage. */
interface Need {
  readonly stage: string;
  readonly choice: Choice;
  readonly samples: number;
  readonly timeNs: (batch: number) => number;
}

/** Returns the bound of a choice. Every proposal asks for it. */
export type BoundOf = (choice: Choice, limits: BoundLimits) => number;

/** Returns `networkBound` of a fitted network, memoized. */
export function networkBounds(fitted: FittedNetwork, surroundings: NetworkParameters): BoundOf {
  const timesNs = createTimes(fitted, surroundings);
  const visits = countVisits(fitted);
  const known = new Map<string, number>();
  return (choice, limits) => {
    const key = `${choice.key} ${limits.limitNs}`;
    const bound = known.get(key) ?? networkBound(listNeeds(choice, visits, timesNs), fitted, limits);
    known.set(key, bound);
    return bound;
  };
}

/**
 * Returns a rough upper bound on the throughput of a network, in samples per nanosecond: every
 * stage executes equally filled batches, all its instances are busy, and devices are shared as
 * observed. Above the limit on latency it is a thousandth.
 */
function networkBound(needs: readonly Need[], fitted: FittedNetwork, { limitNs }: BoundLimits): number {
  let best = 0;
  for (const fill of FILLS) {
    const findBatch = ({ choice }: Need): number => Math.max(1, Math.floor(fill * choice.largestBatch));
    const latencyNs = needs.reduce(
      (sum, need) => sum + WAITING * need.timeNs(findBatch(need)) * Math.min(1, need.samples),
      0,
    );
    const rate = rateWith(needs, findBatch, fitted);
    best = Math.max(best, latencyNs <= limitNs * Math.max(1, fitted.topology.fronts.length) ? rate : rate / 1e3);
  }
  return best;
}

/** Returns the time of a stage's execution of a batch, one standard deviation below the mean. */
type TimesOf = (stage: string, choice: Choice) => (batch: number) => number;

/** Returns the times of stages, memoized: many joint choices share the config of a model. */
function createTimes(fitted: FittedNetwork, surroundings: NetworkParameters): TimesOf {
  const known = new Map<string, (batch: number) => number>();
  return (stage, choice) => {
    const key = `${stage} ${choice.key}`;
    const times = known.get(key) ?? timesOfOne(stage, choice, fitted, surroundings);
    known.set(key, times);
    return times;
  };
}

function timesOfOne(stage: string, choice: Choice, fitted: FittedNetwork, surroundings: NetworkParameters) {
  const law = stageLaw(fitted, stage, choice, surroundings);
  const { instances } = choice.policy;
  const known = new Map<number, number>();
  return (batch: number): number => {
    const uncertainty = (): number => fitted.laws.get(stage)?.uncertainty(choice, batch, instances) ?? 0;
    const ns = known.get(batch) ?? executionNs(law, batch, instances) * Math.exp(-uncertainty());
    known.set(batch, ns);
    return ns;
  };
}

/** Returns the stages with the number of samples that each executes per sample of the mix. */
function listNeeds({ members }: Choice, visits: ReadonlyMap<string, number>, timesNs: TimesOf): readonly Need[] {
  return [...(members ?? [])].map(([stage, choice]) => ({
    stage,
    choice,
    samples: visits.get(stage) ?? 1,
    timeNs: timesNs(stage, choice),
  }));
}

/**
 * Returns the highest rate at which no stage needs more instances than it has, by bisection:
 * executions on a full device take longer.
 */
function rateWith(needs: readonly Need[], findBatch: (need: Need) => number, { sharing }: FittedNetwork): number {
  const works = needs.map((need) => {
    const batch = findBatch(need);
    const { name } = toDevice(need.choice);
    return { ...need, device: name, workNs: (need.timeNs(batch) * need.samples) / batch };
  });
  const onDevices = Map.groupBy(works, ({ device }) => device);
  const fits = (rate: number): boolean =>
    works.every(({ workNs, choice, device, stage }) => {
      const likeliest = sharing.get(device)?.likeliest;
      const stretch = likeliest ? stretchAt(likeliest, onDevices.get(device) ?? [], stage, rate) : 1;
      return rate * workNs * stretch <= choice.policy.instances;
    });
  const most = Math.min(...works.map(({ workNs, choice }) => choice.policy.instances / workNs));
  if (!Number.isFinite(most) || fits(most)) return most;
  let [low, high] = [0, most];
  for (let halving = 0; halving < HALVINGS; halving++) {
    const middle = (low + high) / 2;
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/** Returns the mean slowdown of a stage's executions by others, at a rate of samples. */
function stretchAt(
  { interference, shares }: SharingHypothesis,
  works: readonly { readonly stage: string; readonly workNs: number }[],
  stage: string,
  rate: number,
): number {
  const load = works.reduce((sum, each) => sum + (shares.get(each.stage) ?? 0) * rate * each.workNs, 0);
  const workNs = (shares.get(stage) ?? 0) * rate * (works.find((each) => each.stage === stage)?.workNs ?? 0);
  return 1 + interference * Math.max(0, Math.max(0, load - 1) - Math.max(0, workNs - 1));
}

/**
 * Returns the samples that each stage executes per sample of the mix: as measured, or else by the
 * steps.
 */
function countVisits({ observations, topology }: FittedNetwork): ReadonlyMap<string, number> {
  const seen = observations.find(({ stages }) => topology.stages.every((stage) => stages.has(stage)));
  if (seen) {
    const { measurement, stages } = seen;
    return new Map(
      [...stages].map(([stage, { observation }]) => [
        stage,
        (observation.requestsPerSecond * observation.samplesPerRequest) / measurement.throughput.value,
      ]),
    );
  }
  const total = topology.fronts.reduce((sum, { share = 1 }) => sum + share, 0);
  const visits = new Map<string, number>();
  const visit = (steps: readonly Step[], times: number): void => {
    for (const step of steps)
      if ('stage' in step) visits.set(step.stage, (visits.get(step.stage) ?? 0) + times);
      else visit(step.steps, times);
  };
  for (const { steps, share = 1 } of topology.fronts) visit(steps, share / total);
  return visits;
}
