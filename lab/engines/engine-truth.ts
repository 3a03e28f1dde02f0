import { NS_PER_S, nsToMs } from '../../src/base/units.ts';
import { limitRatios, type RequestLimits } from '../../src/queueing/continuous/request-limits.ts';
import { simulateContinuous } from '../../src/queueing/continuous/simulate-continuous.ts';
import type { TokenSimulation } from '../../src/queueing/continuous/token-tally.ts';
import type { Traffic } from '../../src/queueing/traffic.ts';
import type { Candidate } from '../../src/space/types.ts';

import type { TokenTruth, Truth } from '../problems/truth.ts';
import type { Engine } from './engine.ts';
import { toSettings } from './engine-space.ts';

const REQUESTS = 400;
/** The minimum number of rounds of all requests in flight that count. */
const ROUNDS = 4;
const SEED = 77;

/** Simulates the true behaviour of an engine with a candidate at a level. */
export function engineTruth(
  engine: Engine,
  candidate: Candidate,
  level: number,
  limits: RequestLimits | undefined,
): Truth {
  const { lengths, roundTripNs, levels } = engine;
  const policy = candidate.shape.continuous;
  if (!policy) throw new Error('a candidate of no engine');
  const isClosed = levels.mode === 'concurrency';
  const traffic: Traffic = isClosed
    ? { kind: 'closed', concurrency: level, roundTripNs }
    : { kind: 'rate', perSecond: level, distribution: 'constant', roundTripNs };
  const simulation = simulateContinuous(policy, engine.times(toSettings(candidate)), traffic, lengths, {
    warmUpRequests: isClosed ? Math.min(400, 2 * level) : 60,
    requests: isClosed ? Math.max(REQUESTS, ROUNDS * level) : REQUESTS,
    seed: SEED,
  });
  const latencyMs = summarize(simulation.endToEndNs);
  return {
    throughput: simulation.requestsPerSecond,
    latencyMs,
    queueUs: 0,
    computeUs: 0,
    batches: [],
    requests: simulation.requests,
    tokens: toTokens(simulation, engine, policy.cachesPrefixes, limits),
  };
}

function toTokens(
  simulation: TokenSimulation,
  { lengths }: Engine,
  cachesPrefixes: boolean,
  limits: RequestLimits | undefined,
): TokenTruth {
  const quantile = simulation.itl.quantiles();
  const [p50, p90, p95, p99] = [0.5, 0.9, 0.95, 0.99].map((share) => nsToMs(quantile(share))) as [
    number,
    number,
    number,
    number,
  ];
  const users = simulation.tpotNs.filter((ns) => ns > 0).map((ns) => NS_PER_S / ns);
  return {
    ttftMs: summarize(simulation.ttftNs),
    tpotMs: summarize(simulation.tpotNs),
    itlMs: { avg: nsToMs(simulation.itl.meanNs), p50, p90, p95, p99 },
    outputTokensPerSecond: simulation.outputTokensPerSecond,
    totalTokensPerSecond: simulation.totalTokensPerSecond,
    outputTokensPerSecondPerUser: users.reduce((sum, rate) => sum + rate, 0) / Math.max(1, users.length),
    ...(limits && { goodput: simulation.requestsPerSecond * goodShare(simulation, limits) }),
    inputTokens: lengths.input,
    outputTokens: lengths.output,
    cachedShare: cachesPrefixes ? lengths.cachedShare : 0,
  };
}

function summarize(timesNs: readonly number[]): Truth['latencyMs'] {
  const sorted = Float64Array.from(timesNs.filter((ns) => !Number.isNaN(ns))).sort();
  const at = (share: number): number => nsToMs(sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0);
  const avg = nsToMs(sorted.reduce((sum, ns) => sum + ns, 0) / Math.max(1, sorted.length));
  return { avg, p50: at(0.5), p90: at(0.9), p95: at(0.95), p99: at(0.99) };
}

function goodShare(simulation: TokenSimulation, limits: RequestLimits): number {
  const ratios = limitRatios(simulation, limits);
  return ratios.filter((ratio) => ratio <= 1).length / ratios.length;
}
