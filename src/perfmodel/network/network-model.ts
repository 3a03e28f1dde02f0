import { NS_PER_S, nsToMs } from '#base/units.ts';
import { type FitQuality, fitQuality } from '#queueing/calibration/fit-quality.ts';
import { allFronts } from '#queueing/network/all-fronts.ts';
import { findBottleneck, oneMoreInstance } from '#queueing/network/bottleneck.ts';
import { simulateNetwork } from '#queueing/network/simulate-network.ts';
import type { Network, NetworkSimulation, StageFigures } from '#queueing/network/types.ts';
import type { Topology } from '#space/topology.ts';
import type { StudyWorkloads } from '#workload/study-workloads.ts';
import { type Choice, largestRequest } from '../modelled-config.ts';
import { underEach } from '../observed-arrivals.ts';
import { figuresUnder, meanOver, robustRun } from '../robust-figures.ts';
import type {
  Extrapolation,
  MeasuredChoice,
  ServiceModel,
  ServiceModelOptions,
  StageBottleneck,
} from '../service-model.ts';
import {
  type FigureOptions,
  givesOfTensors,
  meanUncertainty,
  memoizedRuns,
  type Simulated,
  type SimulatedFigures,
  type SimulatedRun,
  type StageLoad,
  summarizeFigures,
} from '../simulated.ts';
import { networkBounds } from './bound.ts';
import { type Running, toDevice } from './device-sharing.ts';
import { type FittedNetwork, fitNetwork } from './fit-network.ts';
import { fitSurroundings } from './fit-surroundings.ts';
import { type FrontsUnder, frontsUnder } from './fronts-under.ts';
import { frontsAt, type NetworkParameters, stageLaw, toStages } from './network-of.ts';
import { placeInNetwork } from './network-place.ts';
import { aloneNs } from './path.ts';

const REQUESTS = 300;
/** The least number of counted rounds of all requests in flight. */
const ROUNDS = 4;
/** Arrivals of one simulation under a workload, of all fronts together. */
const MAX_ARRIVALS = 800;
/** The most requests of a warm-up, for each front. */
const MAX_WARM_UP = 200;

/** The result of one simulation. */
interface Run extends SimulatedRun {
  /** By stage: the standard deviation of its execution times' logarithm. */
  readonly uncertainties: ReadonlyMap<string, number>;
  /** By front: the standard deviation of its mean latency's logarithm. */
  readonly ofFronts: ReadonlyMap<string, number>;
  readonly loads: ReadonlyMap<string, StageLoad>;
}

/**
 * Fits the model of models that are served together to measurements: laws of each stage from its
 * own statistics, over all configs of that model; the slowdown between stages on a device; calls;
 * and the time that clients see besides. Errors: none; without statistics usual laws are scaled to
 * the first measurement.
 */
export function fitNetworkModel(
  measured: readonly MeasuredChoice[],
  topology: Topology,
  options: ServiceModelOptions,
): ServiceModel {
  const { mode, percentile, seed, limits, without, requests: most = REQUESTS, workloads } = options;
  const apart = measured.map((each) => ({ ...each, measurements: each.measurements.flatMap(underEach) }));
  const fitted = fitNetwork(apart, topology, without, options.expectedTime);
  const surroundings = fitSurroundings(fitted, apart, options);
  const createSamples = (choice: Choice) => (front: string) =>
    choice.clientBatch ?? fitted.samplesPerRequest.get(front) ?? 1;
  const bases = new Map<string, Pick<Network, 'stages' | 'devices'>>();
  const toBase = (choice: Choice): Pick<Network, 'stages' | 'devices'> => {
    const base = bases.get(choice.key) ?? toStages(fitted, choice, surroundings);
    bases.set(choice.key, base);
    return base;
  };
  const createNetwork = (choice: Choice, level: number): Network => ({
    ...toBase(choice),
    fronts: frontsAt(topology, { mode, value: level }, createSamples(choice), surroundings.roundTripNs),
  });
  const extent = (level: number) => {
    const each = Math.ceil(level / topology.fronts.length);
    return mode === 'concurrency'
      ? { warmUpRequests: Math.min(MAX_WARM_UP, 2 * each), requests: Math.max(most, ROUNDS * each), seed }
      : { warmUpRequests: 100, requests: most, seed };
  };
  const run = (choice: Choice, level: number): Run | null => {
    if (!takesRequests(choice, topology, createSamples(choice))) return null;
    const simulation = { percentile, limits, countSamples: createSamples(choice), inFlight: level };
    if (!workloads)
      return runNetwork(
        simulateNetwork(createNetwork(choice, level), extent(level)),
        choice,
        fitted,
        surroundings,
        simulation,
      );
    const lengths = {
      roundTripNs: surroundings.roundTripNs,
      countSamples: createSamples(choice),
      requests: MAX_ARRIVALS,
    };
    const runs = frontsUnder(workloads, topology, level, lengths).map(({ fronts, loads }) =>
      runNetwork(
        simulateNetwork({ ...toBase(choice), fronts }, { warmUpRequests: 0, requests: 1, seed }),
        choice,
        fitted,
        surroundings,
        { ...simulation, loads },
      ),
    );
    return robustNetworkRun(workloads, runs);
  };
  const runs = memoizedRuns(run);
  const shares = computeStageShares(fitted);
  return {
    predict: runs.predict,
    uncertainty(choice, level, front = null) {
      const run = runs.at(choice, level);
      return (front === null ? run?.uncertainty : (run?.ofFronts.get(front) ?? run?.uncertainty)) ?? 0;
    },
    mostThroughput(choice, level) {
      if (mode !== 'concurrency') return Number.POSITIVE_INFINITY;
      const fronts = frontsAt(topology, { mode, value: level }, createSamples(choice), surroundings.roundTripNs);
      const { stages } = createNetwork(choice, level);
      return fronts.reduce((sum, { steps, traffic }) => {
        const { samplesPerRequest = 1, roundTripNs = 0 } = traffic;
        if (traffic.kind === 'rate') return sum + traffic.perSecond * samplesPerRequest;
        const inFlight = traffic.kind === 'closed' ? traffic.concurrency : 1;
        const ns =
          aloneNs(steps, stages, samplesPerRequest, (stage) => -singleUncertainty(fitted, choice, stage)) + roundTripNs;
        return sum + (inFlight * samplesPerRequest * NS_PER_S) / ns;
      }, 0);
    },
    bound: networkBounds(fitted, surroundings),
    gives: givesOfTensors({ limits, workloads }),
    place: (choice, level, longestDelayUs) => placeInNetwork(choice, level, longestDelayUs, { shares, loads: null }),
    placeInUse: (choice, level, longestDelayUs) =>
      placeInNetwork(choice, level, longestDelayUs, { shares, loads: runs.at(choice, level)?.loads ?? null }),
    extrapolates: (choice) => extrapolationsBeyond(measured, choice),
    quality: () => computeQuality(fitted),
    bottleneck: (choice, level) =>
      shares !== null && takesRequests(choice, topology, createSamples(choice))
        ? bottleneckAt(createNetwork(choice, level), extent(level))
        : null,
  };
}

/** True if all fronts with instances of their own accept the requests of the study. */
function takesRequests({ members }: Choice, { fronts }: Topology, countSamples: (front: string) => number): boolean {
  return fronts.every(({ model }) => {
    const choice = members?.get(model);
    return !choice || countSamples(model) <= largestRequest(choice);
  });
}

/** Returns the properties of one of the members that no measured choice had. */
function extrapolationsBeyond(measured: readonly MeasuredChoice[], { members = new Map() }: Choice): Extrapolation[] {
  const listSeen = (model: string): readonly Choice[] =>
    measured.flatMap(({ choice }) => choice.members?.get(model) ?? []);
  const isBeyond = (of: (choice: Choice, seen: readonly Choice[]) => boolean): boolean =>
    [...members].some(([model, choice]) => of(choice, listSeen(model)));
  const hasMore = (of: (choice: Choice) => number): boolean =>
    isBeyond((choice, seen) => seen.every((each) => of(each) < of(choice)));
  return [
    ...(hasMore(({ policy }) => policy.instances) ? (['instances'] as const) : []),
    ...(hasMore(({ largestBatch }) => largestBatch) ? (['batch size'] as const) : []),
    ...(isBeyond((choice, seen) => seen.every(({ settingsKey }) => settingsKey !== choice.settingsKey))
      ? (['variant'] as const)
      : []),
  ];
}

/** Judges a network by the execution times of its stages; null without any. */
function computeQuality({ laws }: FittedNetwork): FitQuality | null {
  const misses = [...laws.values()].flatMap((law) => law.misses());
  return misses.length > 0 ? fitQuality(misses) : null;
}

function bottleneckAt(network: Network, options: Parameters<typeof simulateNetwork>[1]): StageBottleneck | null {
  const effects = oneMoreInstance(network, options);
  const [best] = effects;
  if (!best) return null;
  const { stage, utilization, gain } = best;
  const bottleneck = findBottleneck(simulateNetwork(network, options), effects);
  return { stage, utilization, gain, ...(bottleneck.kind === 'device' && { device: bottleneck.name }) };
}

const singleUncertainty = ({ laws }: FittedNetwork, { members }: Choice, stage: string): number => {
  const choice = members?.get(stage);
  return choice ? (laws.get(stage)?.uncertainty(choice, 1, choice.policy.instances) ?? 0) : 0;
};

/**
 * Returns the mean share of a request's time in each stage, over the measurements; null without
 * statistics.
 */
function computeStageShares({ observations }: FittedNetwork): ReadonlyMap<string, number> | null {
  const sums = new Map<string, number>();
  for (const { stages } of observations) {
    const times = [...stages.values()].map(
      ({ stage, observation: { requestsPerSecond, latencyNs } }) => [stage, requestsPerSecond * latencyNs.p50] as const,
    );
    const total = times.reduce((sum, [, time]) => sum + time, 0);
    for (const [stage, time] of times) sums.set(stage, (sums.get(stage) ?? 0) + time / total / observations.length);
  }
  return sums.size > 0 ? sums : null;
}

/** The request for a simulation. */
interface SimulationOptions extends FigureOptions {
  readonly countSamples: (front: string) => number;
  readonly inFlight: number;
  /** The arrivals at each front under a workload; absent without one. */
  readonly loads?: FrontsUnder['loads'];
}

/**
 * Returns one run for all workloads: figures by the rule, and the use of the stages averaged with
 * the workloads' weights.
 */
function robustNetworkRun(studied: StudyWorkloads, runs: readonly Run[]): Run {
  const [first] = runs as [Run];
  const mean = (of: (run: Run) => number): number => meanOver(studied, runs, of);
  return {
    ...robustRun(studied, runs),
    uncertainties: new Map(
      [...first.uncertainties.keys()].map((stage) => [stage, mean((run) => run.uncertainties.get(stage) ?? 0)]),
    ),
    ofFronts: new Map([...first.ofFronts.keys()].map((front) => [front, mean((run) => run.ofFronts.get(front) ?? 0)])),
    loads: new Map(
      [...first.loads.keys()].map((stage) => [
        stage,
        {
          meanBatch: mean((run) => run.loads.get(stage)?.meanBatch ?? 1),
          busyInstances: mean((run) => run.loads.get(stage)?.busyInstances ?? 0),
        },
      ]),
    ),
  };
}

function runNetwork(
  simulation: NetworkSimulation,
  choice: Choice,
  fitted: FittedNetwork,
  surroundings: NetworkParameters,
  { percentile, limits, countSamples, inFlight, loads = [] }: SimulationOptions,
): Run {
  const uncertainties = stageUncertainties(simulation, choice, fitted, surroundings, inFlight);
  const ofFronts = new Map(
    simulation.fronts.map(({ name, path }) => [
      name,
      Math.hypot(...path.map(({ stage, share }) => share * (uncertainties.get(stage) ?? 0))),
    ]),
  );
  const figures = simulation.fronts.map((front, place) => {
    const load = loads[place];
    const samples = countSamples(front.name);
    const figures = load
      ? figuresUnder(load, front, samples, { percentile, limits })
      : summarizeFigures(front, samples, { percentile, limits });
    return [front.name, figures] as const;
  });
  const predicted: Simulated =
    figures.length === 1
      ? (figures[0] as (typeof figures)[number])[1]
      : { ...together(simulation, figures, percentile), fronts: new Map(figures) };
  const requests = simulation.fronts.reduce((sum, front) => sum + front.requestsPerSecond, 0);
  return {
    predicted,
    uncertainties,
    ofFronts,
    loads: new Map(
      simulation.stages.map(({ name, meanBatchSize, busyInstances }) => [
        name,
        { meanBatch: Math.max(1, meanBatchSize), busyInstances },
      ]),
    ),
    uncertainty: simulation.fronts.reduce(
      (sum, { name, requestsPerSecond }) => sum + (requestsPerSecond / requests) * (ofFronts.get(name) ?? 0),
      0,
    ),
    largestBatch: Math.max(
      ...simulation.stages.map(({ executions }) => executions.findLastIndex((count) => count > 0)),
      1,
    ),
  };
}

/** Returns the figures of all fronts' requests together. */
function together(
  { fronts }: NetworkSimulation,
  figures: readonly (readonly [string, SimulatedFigures])[],
  percentile: number,
): SimulatedFigures {
  const all = allFronts(fronts);
  const at = (share: number): number => nsToMs(all.quantileNs(share));
  const hasGoodput = figures.every(([, { goodput }]) => goodput !== undefined);
  return {
    throughput: figures.reduce((sum, [, { throughput }]) => sum + throughput, 0),
    ...(hasGoodput && { goodput: figures.reduce((sum, [, { goodput = 0 }]) => sum + goodput, 0) }),
    latency: at(percentile / 100),
    'latency-avg': nsToMs(all.meanNs),
    'latency-p50': at(0.5),
    'latency-p90': at(0.9),
    'latency-p95': at(0.95),
    'latency-p99': at(0.99),
  };
}

/**
 * Returns the standard deviation of each stage's execution times: of its law, and of the effect of
 * others on its device.
 */
function stageUncertainties(
  { stages }: NetworkSimulation,
  choice: Choice,
  fitted: FittedNetwork,
  surroundings: NetworkParameters,
  inFlight: number,
): ReadonlyMap<string, number> {
  const toMember = (stage: string): Choice => choice.members?.get(stage) ?? choice;
  const running = (stage: StageFigures): Running => {
    const { computeNs, callNs, busyInstances } = stage;
    const share = computeNs > 0 ? (computeNs - callNs) / computeNs : 1;
    return { instances: toMember(stage.name).policy.instances, mean: busyInstances * share };
  };
  return new Map(
    stages.map((stage) => {
      const member = toMember(stage.name);
      const { name: device } = toDevice(member);
      const laws = fitted.laws.get(stage.name);
      const law = stageLaw(fitted, stage.name, member, surroundings);
      const ofLaw = laws
        ? meanUncertainty(stage, law, (batch) => laws.uncertainty(member, batch, Math.max(1, stage.busyInstances)))
        : UNKNOWN_STAGE;
      const sharing = fitted.sharing.get(device);
      const beside = new Map(
        stages.filter(({ name }) => toDevice(toMember(name)).name === device).map((each) => [each.name, running(each)]),
      );
      return [stage.name, Math.hypot(ofLaw, sharing?.uncertainty(stage.name, beside, inFlight) ?? 0)];
    }),
  );
}

/** The uncertainty of the execution times of a stage without statistics. */
const UNKNOWN_STAGE = 0.2;
