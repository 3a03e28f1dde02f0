import { NS_PER_S, nsToMs } from '#base/units.ts';
import type { ExecutionLaws } from '#perfmodel/execution-laws.ts';
import { type Choice, largestRequest } from '#perfmodel/modelled-config.ts';
import { meanUncertainty } from '#perfmodel/simulated.ts';
import { executionNs, loneExecutionNs, type ServiceLaw } from '#queueing/service-law.ts';
import { simulate } from '#queueing/simulate.ts';
import type { Simulation } from '#queueing/tally.ts';
import type { Interval } from '#stats/interval.ts';
import { type ArrivalProcess, drawArrivals } from './arrivals.ts';

/** What a config would do under the observed kind of traffic. */
export interface Forecast {
  readonly choice: Choice;
  /** Times of a request in the server at today's rate; null if it cannot keep up. */
  readonly today: TimesMs | null;
  /** The highest rate of requests per second that it keeps within the limit. */
  readonly ceilingPerSecond: number;
  /** The same with executions that take half a standard deviation longer. */
  readonly cautiousPerSecond: number;
  /** The standard deviation of execution times' logarithm at the ceiling. */
  readonly uncertainty: number;
  /** The largest batch that a tenth of the executions at the ceiling have. */
  readonly usualLargest: number;
}

/** Milliseconds. */
export interface TimesMs {
  readonly mean: number;
  readonly queue: number;
  /** At the percentile of the limit. */
  readonly tail: number;
}

/** The traffic of forecasts, and their limit. */
export interface ForecastContext {
  readonly laws: ExecutionLaws;
  readonly process: ArrivalProcess;
  readonly perSecond: number;
  readonly samplesPerRequest: number;
  /** Mean time of a request in the server outside queue and execution. */
  readonly otherNs: number;
  /** The largest batch that was executed often enough to know its time. */
  readonly largestSeen: number;
  /** Infinity for no limit. */
  readonly budgetMs: number;
  readonly percentile: number;
  /** Requests of one simulation. */
  readonly requests: number;
}

/**
 * Requests of one simulation: to rank configs, which all get the same arrivals, and for figures,
 * whose tails are rarer.
 */
export const REQUESTS = { toRank: 3000, toTell: 12_000 } as const;
/** Coefficient of variation of execution times, which means do not tell. */
const USUAL_CV = 0.05;
const SEED = 1;
/** Shares of the capacity at which a ceiling is looked for. */
const SHARES = [0.97, 0.9, 0.8, 0.65, 0.5, 0.35, 0.2, 0.1, 0.05] as const;
const HALVINGS = 6;
/** A ceiling without a limit: queues are long beyond this share of the capacity. */
const MAX_SHARE = 0.95;

/** Simulates a choice at a rate, with execution times multiplied by a factor. */
export function simulateAt(context: ForecastContext, choice: Choice, perSecond: number, slowness = 1): Simulation {
  return simulateLaw(context, choice, toSlowedLaw(context, choice, slowness), perSecond);
}

/** Simulates a choice at a rate, with this law of its executions. */
export function simulateLaw(
  context: Omit<ForecastContext, 'laws'>,
  choice: Choice,
  law: ServiceLaw,
  perSecond: number,
): Simulation {
  const arrivalsNs = drawArrivals(context.process, perSecond, context.requests, SEED);
  const traffic = {
    kind: 'open',
    arrivalsNs,
    roundTripNs: context.otherNs,
    samplesPerRequest: context.samplesPerRequest,
  } as const;
  return simulate(choice.policy, law, traffic, { warmUpRequests: 0, requests: context.requests, seed: SEED });
}

/** Returns what the choice would do; null if it cannot take such requests. */
export function forecast(context: ForecastContext, choice: Choice): Forecast | null {
  if (context.samplesPerRequest > largestRequest(choice)) return null;
  const capacity = computeCapacity(context, choice, 1);
  const ceilingPerSecond = findCeiling(context, choice, 1, capacity);
  const isServed = context.perSecond < capacity;
  const at = simulateAt(context, choice, Math.max(ceilingPerSecond, capacity * (SHARES.at(-1) as number)));
  const law = context.laws.of(choice);
  const uncertainty = Math.max(
    MIN_UNCERTAINTY,
    meanUncertainty(at, law, (batch) => context.laws.uncertainty(choice, batch, at.busyInstances)),
  );
  return {
    choice,
    today: isServed ? toTimes(simulateAt(context, choice, context.perSecond), context.percentile) : null,
    ceilingPerSecond,
    cautiousPerSecond: findCeiling(context, choice, Math.exp(CAUTION * uncertainty)),
    uncertainty,
    usualLargest: findUsualLargest(at.executions),
  };
}

function findUsualLargest(executions: Uint32Array): number {
  const all = executions.reduce((sum, count) => sum + count, 0);
  let larger = 0;
  return executions.findLastIndex((count) => {
    larger += count;
    return larger >= all / 10;
  });
}

/**
 * Returns the ceiling with its 95 % interval, by execution times at both ends of theirs. At the
 * lower end, batches beyond the largest one that was seen save no more time per sample.
 */
export function ceilingInterval(
  context: ForecastContext,
  { choice, ceilingPerSecond, uncertainty }: Forecast,
): Interval {
  const factor = Math.exp(1.96 * uncertainty);
  const { laws, largestSeen } = context;
  const unsaving = { ...laws, of: (each: Choice) => withoutSavings(laws.of(each), largestSeen) };
  return {
    value: ceilingPerSecond,
    low: Math.min(ceilingPerSecond, findCeiling({ ...context, laws: unsaving }, choice, factor)),
    high: Math.max(ceilingPerSecond, findCeiling(context, choice, 1 / factor)),
  };
}

/** Deviations of execution times by which configs are compared, so that a risk counts. */
const CAUTION = 0.5;
/** No forecast is surer than this; as the logarithm of execution times. */
const MIN_UNCERTAINTY = 0.07;

/** Returns the highest rate within the limit, in requests per second; 0 if there is none. */
function findCeiling(
  context: ForecastContext,
  choice: Choice,
  slowness: number,
  capacity: number = computeCapacity(context, choice, slowness),
): number {
  if (context.budgetMs === Number.POSITIVE_INFINITY) return MAX_SHARE * capacity;
  const keeps = (perSecond: number): boolean =>
    toTimes(simulateAt(context, choice, perSecond, slowness), context.percentile).tail <= context.budgetMs;
  const first = SHARES.findIndex((share) => keeps(share * capacity));
  if (first <= 0) return first === 0 ? SHARES[0] * capacity : 0;
  let [low, high] = [SHARES[first] as number, SHARES[first - 1] as number];
  for (let halving = 0; halving < HALVINGS; halving++) {
    const middle = (low + high) / 2;
    if (keeps(middle * capacity)) low = middle;
    else high = middle;
  }
  return low * capacity;
}

/** Returns the requests per second of a choice with requests always waiting. */
export function computeCapacity(context: ForecastContext, choice: Choice, slowness: number): number {
  const { samplesPerRequest, otherNs } = context;
  const law = toSlowedLaw(context, choice, slowness);
  const atOnce = Math.max(1, Math.floor(Math.max(1, choice.largestBatch) / samplesPerRequest));
  const concurrency = 3 * choice.policy.instances * atOnce;
  const traffic = { kind: 'closed', concurrency, roundTripNs: otherNs, samplesPerRequest } as const;
  const extent = { warmUpRequests: 2 * concurrency, requests: 8 * concurrency, seed: SEED };
  return simulate(choice.policy, law, traffic, extent).requestsPerSecond;
}

/** Returns an upper bound on a choice's requests per second within the limit, for ranking. */
export function computeBound({ laws, samplesPerRequest, budgetMs }: ForecastContext, choice: Choice): number {
  const law = laws.of(choice);
  const { instances } = choice.policy;
  let best = 0;
  for (let batch = Math.max(choice.largestBatch, samplesPerRequest); batch >= 1; batch = Math.floor(batch / 2)) {
    const timeNs = executionNs(law, batch, instances / (choice.policy.devices ?? 1));
    if (nsToMs(timeNs) <= budgetMs) best = Math.max(best, (instances * batch * NS_PER_S) / timeNs);
  }
  return best / samplesPerRequest;
}

/** Returns the times of a request in the server. */
function toTimes({ latencyNs, latenciesNs, queueNs }: Simulation, percentile: number): TimesMs {
  const rank = Math.max(0, Math.ceil((percentile / 100) * latenciesNs.length) - 1);
  return { mean: nsToMs(latencyNs.mean), queue: nsToMs(queueNs), tail: nsToMs(latenciesNs[rank] as number) };
}

/** Returns the law with times in proportion to the batch beyond the largest one that was seen. */
function withoutSavings(law: ServiceLaw, largestSeen: number): ServiceLaw {
  const seenNs = loneExecutionNs(law, largestSeen);
  const beyond = law.points.filter(({ batchSize }) => batchSize > largestSeen);
  const points = [
    ...law.points.filter(({ batchSize }) => batchSize < largestSeen),
    { batchSize: largestSeen, executionNs: seenNs },
    ...beyond.map(({ batchSize, executionNs: ns }) => ({
      batchSize,
      executionNs: Math.max(ns, (seenNs * batchSize) / largestSeen),
    })),
  ];
  return { ...law, points };
}

function toSlowedLaw({ laws }: ForecastContext, choice: Choice, slowness: number): ServiceLaw {
  const law = laws.of(choice);
  const points = law.points.map((point) => ({ ...point, executionNs: point.executionNs * slowness }));
  return { ...law, points, cv: USUAL_CV };
}
