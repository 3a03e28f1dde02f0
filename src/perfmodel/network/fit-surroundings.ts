import { NS_PER_MS } from '#base/units.ts';
import { simulateNetwork } from '#queueing/network/simulate-network.ts';
import type { NetworkSimulation } from '#queueing/network/types.ts';
import { enoughRequests } from '#queueing/simulate.ts';
import { USUAL_MISS, USUAL_SPREAD } from '../fit-spread.ts';
import { toStudy, type UnderOne, underEach } from '../observed-arrivals.ts';
import { summedMisses } from '../played-again.ts';
import type { MeasuredChoice, ServiceModelOptions } from '../service-model.ts';
import type { FittedNetwork } from './fit-network.ts';
import { type FrontsUnder, frontsUnder } from './fronts-under.ts';
import { frontsAt, type NetworkParameters, toStages, USUAL_NS } from './network-of.ts';

const SPREADS = [0, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4];
const USUAL_CV = 0.05;
/**
 * The most measurements that are simulated: for the round trip those with the shortest latencies,
 * for the spread a selection spread evenly over all.
 */
const MAX_FOR_ROUND_TRIP = 4;
const MAX_FOR_SPREAD = 6;
const REQUESTS = 300;
const MAX_WARM_UP = 200;
/** The weight of the prior against large spreads, in misses. */
const PRIOR_WEIGHT = 2;
/** A round trip is at most this share of a request's time. */
const MAX_ROUND_TRIP = 0.6;

/** A simulated choice with its measurement. */
interface Seen {
  readonly choice: MeasuredChoice['choice'];
  readonly measurement: UnderOne;
}

/**
 * Fits the time that clients see outside the stages: the round trip of each front, the spread of
 * execution times, and the scale of stages without statistics.
 */
export function fitSurroundings(
  fitted: FittedNetwork,
  measured: readonly MeasuredChoice[],
  { seed, without, workloads }: ServiceModelOptions,
): NetworkParameters {
  const seen = measured.flatMap(({ choice, measurements }) =>
    measurements
      .flatMap(underEach)
      .filter(({ latencyMs, client }) => latencyMs.avg > 0 && !client.bound)
      .map((measurement): Seen => ({ choice, measurement })),
  );
  const simulateAt = ({ choice, measurement }: Seen, surroundings: NetworkParameters): NetworkSimulation => {
    const countSamples = (front: string): number => choice.clientBatch ?? fitted.samplesPerRequest.get(front) ?? 1;
    const { level } = measurement;
    const { roundTripNs } = surroundings;
    const under = workloads && toStudy(workloads, measurement);
    if (under && level.mode === 'request-rate') {
      const lengths = { roundTripNs, countSamples, requests: REQUESTS };
      const [{ fronts }] = frontsUnder(under, fitted.topology, level.value, lengths) as [FrontsUnder];
      return simulateNetwork(
        { ...toStages(fitted, choice, surroundings), fronts },
        { warmUpRequests: 0, requests: 1, seed },
      );
    }
    const fronts = frontsAt(fitted.topology, level, countSamples, roundTripNs);
    const each = level.mode === 'concurrency' ? Math.ceil(level.value / fronts.length) : 1;
    return simulateNetwork(
      { ...toStages(fitted, choice, surroundings), fronts },
      { warmUpRequests: Math.min(MAX_WARM_UP, 2 * each), requests: enoughRequests(REQUESTS, each), seed },
    );
  };
  const start = { roundTripNs: new Map<string, number>(), cv: USUAL_CV, unknownNs: USUAL_NS };
  const unknown = fitted.topology.stages.some((stage) => !fitted.laws.has(stage));
  const scaled = unknown ? { ...start, unknownNs: fitUnknownNs(seen, start, simulateAt) } : start;
  const roundTripNs = fitRoundTrips(fitted, seen, scaled, simulateAt);
  const known = { ...scaled, roundTripNs };
  return { ...known, cv: without?.has('tails') || unknown ? USUAL_CV : computeSpread(seen, known, simulateAt) };
}

type SimulateAt = (seen: Seen, surroundings: NetworkParameters) => NetworkSimulation;

/**
 * Finds the single execution time of stages without statistics that reproduces the first
 * measurement's mean latency in a simulation.
 */
function fitUnknownNs([first]: readonly Seen[], start: NetworkParameters, simulateAt: SimulateAt): number {
  if (!first) return USUAL_NS;
  let [low, high] = [Math.log(1e-3), Math.log(1e5)];
  for (let halving = 0; halving < 16; halving++) {
    const middle = (low + high) / 2;
    const simulation = simulateAt(first, { ...start, unknownNs: NS_PER_MS * Math.exp(middle) });
    if (meanNs(simulation) < first.measurement.latencyMs.avg * NS_PER_MS) low = middle;
    else high = middle;
  }
  return NS_PER_MS * Math.exp((low + high) / 2);
}

/** Mean latency over all fronts' requests. */
function meanNs({ fronts }: NetworkSimulation): number {
  const rate = fronts.reduce((sum, { requestsPerSecond }) => sum + requestsPerSecond, 0);
  return fronts.reduce((sum, { requestsPerSecond, latencyNs }) => sum + (requestsPerSecond / rate) * latencyNs.mean, 0);
}

/**
 * Returns each front's unexplained time per request when the stages are least busy: the least over
 * some measurements.
 */
function fitRoundTrips(
  { topology }: FittedNetwork,
  seen: readonly Seen[],
  surroundings: NetworkParameters,
  simulateAt: SimulateAt,
): ReadonlyMap<string, number> {
  const shortest = [...seen]
    .sort((a, b) => a.measurement.latencyMs.avg - b.measurement.latencyMs.avg)
    .slice(0, MAX_FOR_ROUND_TRIP);
  const rests = shortest.map((each) => ({ ...each, found: simulateAt(each, surroundings) }));
  return new Map(
    topology.fronts.map(({ model }, place) => {
      const residuals = rests.map(({ measurement, found: simulation }) => {
        const measuredNs =
          (measurement.fronts?.find((front) => front.model === model) ?? measurement).latencyMs.avg * NS_PER_MS;
        const restNs = measuredNs - (simulation.fronts[place]?.latencyNs.mean ?? measuredNs);
        return Math.min(MAX_ROUND_TRIP * measuredNs, Math.max(0, restNs));
      });
      return [model, residuals.length > 0 ? Math.min(...residuals) : 0];
    }),
  );
}

/**
 * Returns the spread whose simulated p99s are nearest to the measured ones; it also covers the
 * tails of client and network.
 */
function computeSpread(seen: readonly Seen[], surroundings: NetworkParameters, simulateAt: SimulateAt): number {
  const step = Math.max(1, seen.length / MAX_FOR_SPREAD);
  const chosen = Array.from(
    { length: Math.min(MAX_FOR_SPREAD, seen.length) },
    (_, index) => seen[Math.floor(index * step)] as Seen,
  );
  let [best, least] = [USUAL_CV, Number.POSITIVE_INFINITY];
  for (const cv of chosen.length > 0 ? SPREADS : []) {
    const surprise = PRIOR_WEIGHT * Math.log(Math.max(1, cv / USUAL_SPREAD)) ** 2;
    const misses = summedMisses(
      chosen,
      (each) => miss(each, simulateAt(each, { ...surroundings, cv })),
      (sum) => sum + surprise >= least,
    );
    if (misses + surprise < least) [best, least] = [cv, misses + surprise];
  }
  return best;
}

/**
 * Returns the robust loss of the ratio of p99 to median, averaged over the fronts: the durations of
 * executions are known from statistics.
 */
function miss({ measurement }: Seen, { fronts }: NetworkSimulation): number {
  const losses = fronts.map(({ name, latencyNs }) => {
    const { p50, p99 } = (measurement.fronts?.find(({ model }) => model === name) ?? measurement).latencyMs;
    return Math.log1p((Math.log(latencyNs.p99 / latencyNs.p50 / (p99 / p50)) / USUAL_MISS) ** 2);
  });
  return losses.reduce((sum, each) => sum + each, 0) / losses.length;
}
