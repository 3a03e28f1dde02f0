import { NS_PER_S, nsToMs } from '#base/units.ts';
import { limitRatios, type RequestLimits } from '#queueing/continuous/request-limits.ts';
import type { TokenSimulation } from '#queueing/continuous/token-tally.ts';
import { chanceWithin, leastGoodput } from '../goodput.ts';
import type { OfferedLoad } from '../offered-load.ts';
import type { SimulatedFigures } from '../simulated.ts';
import type { TokenFigureName } from './token-figures.ts';

/** The context of a simulation's figures. */
export interface TokenFigureOptions {
  /** The percentile of the budget. */
  readonly percentile: number;
  readonly limits: RequestLimits | undefined;
  /** Engines that share the load. */
  readonly instances: number;
}

/** Returns the figures of a simulation in the units of metrics. */
export function summarizeTokens(simulation: TokenSimulation, options: TokenFigureOptions): SimulatedFigures {
  const { percentile, instances } = options;
  const [ttft, tpot, latency] = [simulation.ttftNs, simulation.tpotNs, simulation.endToEndNs].map(sortedTimes) as [
    Times,
    Times,
    Times,
  ];
  const itl: Times = { avgNs: simulation.itl.meanNs, quantileNs: simulation.itl.quantiles() };
  const at = ({ avgNs, quantileNs }: Times) => ({
    budget: nsToMs(quantileNs(percentile / 100)),
    avg: nsToMs(avgNs),
    p50: nsToMs(quantileNs(0.5)),
    p90: nsToMs(quantileNs(0.9)),
    p95: nsToMs(quantileNs(0.95)),
    p99: nsToMs(quantileNs(0.99)),
  });
  const ofTimes = Object.entries({ ttft, itl, tpot }).flatMap(([name, times]) => {
    const { budget, ...others } = at(times);
    return [[name, budget], ...Object.entries(others).map(([statistic, ms]) => [`${name}-${statistic}`, ms])];
  });
  const throughput = instances * simulation.requestsPerSecond;
  const whole = at(latency);
  return {
    throughput,
    goodput: Math.max(leastGoodput(throughput), throughput * goodShare(simulation, options.limits)),
    latency: whole.budget,
    'latency-avg': whole.avg,
    'latency-p50': whole.p50,
    'latency-p90': whole.p90,
    'latency-p95': whole.p95,
    'latency-p99': whole.p99,
    tokens: {
      ...(Object.fromEntries(ofTimes) as Record<TokenFigureName, number>),
      'output-token-throughput': instances * simulation.outputTokensPerSecond,
      'total-token-throughput': instances * simulation.totalTokensPerSecond,
      'output-tokens-per-user': computeMean(simulation.tpotNs.filter((ns) => ns > 0).map((ns) => NS_PER_S / ns)),
    },
  };
}

/**
 * Returns the figures of a pass of a workload. Rates are over the duration of the pass, or longer
 * if replies still come after its end. Classes have the lengths of all requests together, so a
 * class's share of good requests is the share of all that its limits allow.
 */
export function tokenFiguresUnder(
  { workload: { limits: byClass }, plan: { arrivalsNs, classOf, classes, durationNs } }: OfferedLoad,
  simulation: TokenSimulation,
  options: TokenFigureOptions,
): SimulatedFigures {
  const figures = summarizeTokens(simulation, options);
  const { instances } = options;
  const spanS = Math.max(durationNs / NS_PER_S, simulation.requests / simulation.requestsPerSecond);
  const throughput = arrivalsNs.length / spanS;
  const shares = classes.map((name, index) => ({
    limits: byClass?.get(name) ?? options.limits,
    count: classOf.reduce((sum, each) => sum + (each === index ? 1 : 0), 0),
  }));
  const good = shares.reduce((sum, { limits, count }) => sum + count * goodShare(simulation, limits), 0);
  const scale = throughput / (instances * simulation.requestsPerSecond);
  const tokens = figures.tokens && {
    ...figures.tokens,
    'output-token-throughput': scale * figures.tokens['output-token-throughput'],
    'total-token-throughput': scale * figures.tokens['total-token-throughput'],
  };
  return {
    ...figures,
    throughput,
    goodput: Math.max(leastGoodput(throughput), good / spanS),
    ...(tokens && { tokens }),
  };
}

interface Times {
  readonly avgNs: number;
  quantileNs(share: number): number;
}

function sortedTimes(timesNs: readonly number[]): Times {
  const sorted = Float64Array.from(timesNs.filter((ns) => !Number.isNaN(ns))).sort();
  return {
    avgNs: computeMean(sorted),
    quantileNs: (share) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0,
  };
}

function computeMean(values: ArrayLike<number>): number {
  let sum = 0;
  for (let index = 0; index < values.length; index++) sum += values[index] as number;
  return values.length > 0 ? sum / values.length : 0;
}

/** Returns the expected share of requests within all limits; 1 without any. */
const goodShare = (simulation: TokenSimulation, limits: RequestLimits | undefined): number =>
  limits ? computeMean(limitRatios(simulation, limits).map(chanceWithin)) : 1;
