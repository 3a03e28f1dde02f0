import { median } from 'simple-statistics';
import { NS_PER_MS, NS_PER_S } from '#base/units.ts';
import type { LoadLevel } from '#loadgen/types.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { busyBeside } from '#queueing/batcher-policy.ts';
import { fitQuality } from '#queueing/calibration/fit-quality.ts';
import { affineLaw, executionNs, type ServiceLaw } from '#queueing/service-law.ts';
import { enoughRequests, type SimulationOptions, simulate } from '#queueing/simulate.ts';
import type { Simulation } from '#queueing/tally.ts';
import type { Traffic } from '#queueing/traffic.ts';
import { USUAL_PER_SAMPLE } from './affine-line.ts';
import type { Observed } from './execution-laws.ts';
import { type Choice, largestRequest } from './modelled-config.ts';
import { hasServicePoints, servicePoints } from './observation.ts';
import { observe } from './observe.ts';
import { loadsAt, trafficUnder } from './offered-load.ts';
import { placeOfOne } from './places.ts';
import { figuresUnder, robustRun } from './robust-figures.ts';
import type { Extrapolation, MeasuredChoice, ServiceModel, ServiceModelOptions } from './service-model.ts';
import { fitServiceTimes, type ServiceTimes } from './service-times.ts';
import {
  givesOfTensors,
  meanUncertainty,
  memoizedRuns,
  type SimulatedFigures,
  type SimulatedRun,
  summarizeFigures,
} from './simulated.ts';

/** The service model of one model: Triton's dynamic batcher. */
export interface BatcherModel extends ServiceModel {
  /** Returns the service law of a choice. */
  toLaw(choice: Choice): ServiceLaw;
}

const REQUESTS = 400;
/** Arrivals of one simulation under a workload: fewer make its bursts and its tail less certain. */
const MAX_ARRIVALS = 1600;
/** The most requests of a warm-up. */
const MAX_WARM_UP = 400;

/**
 * Fits the model to measurements. Errors: none; without statistics by batch size it scales a usual
 * law to the first measurement.
 */
export function fitBatcherModel(measured: readonly MeasuredChoice[], options: ServiceModelOptions): BatcherModel {
  const observed = measured.map(({ choice, measurements }) => ({
    choice,
    observations: observe(choice, measurements, options.workloads),
  }));
  const times = fitServiceTimes(observed, options.without, options.expectedTime);
  if (!times) return guessedModel(measured, options);
  const samples = median(observed.flatMap(({ observations }) => observations.map((each) => each.samplesPerRequest)));
  return simulatedModel({ times, samples, observed }, options);
}

/** Service times of all choices, and what they were fitted to. */
interface FittedTimes {
  readonly times: ServiceTimes;
  /** The usual number of samples in a request. */
  readonly samples: number;
  readonly observed: readonly Observed[];
}

/** Returns the same law for every choice, as if it were certain. */
const alikeFor = (law: ServiceLaw): FittedTimes => {
  return { times: { of: () => law, uncertainty: () => 0, misses: () => [], roundTripNs: 0 }, samples: 1, observed: [] };
};

function slowed(law: ServiceLaw, factor: number): ServiceLaw {
  return { ...law, points: law.points.map((point) => ({ ...point, executionNs: point.executionNs * factor })) };
}

/**
 * Builds the model without statistics: a usual law, scaled to the first measurement's mean latency.
 */
function guessedModel(measured: readonly MeasuredChoice[], options: ServiceModelOptions): BatcherModel {
  const unit = { ...affineLaw(NS_PER_MS * (1 - USUAL_PER_SAMPLE), NS_PER_MS * USUAL_PER_SAMPLE), cv: 0.1 };
  const usual: ServiceLaw = { ...unit, interference: { perInstance: 0.1, batchExponent: 0 } };
  const first = measured.find(({ measurements }) => measurements.some(({ latencyMs }) => latencyMs.avg > 0));
  const factor = first ? factorFor(usual, first, options) : 10;
  return simulatedModel(alikeFor(slowed(usual, factor)), options);
}

function factorFor(usual: ServiceLaw, { choice, measurements }: MeasuredChoice, options: ServiceModelOptions): number {
  const measurement = measurements.find(({ latencyMs }) => latencyMs.avg > 0) as Measurement;
  let [low, high] = [Math.log(1e-3), Math.log(1e5)];
  for (let halving = 0; halving < 20; halving++) {
    const middle = (low + high) / 2;
    const model = simulatedModel(alikeFor(slowed(usual, Math.exp(middle))), options);
    const latencyMs = model.predict(choice, measurement.level.value)?.['latency-avg'];
    if (latencyMs !== undefined && latencyMs < measurement.latencyMs.avg) low = middle;
    else high = middle;
  }
  return Math.exp((low + high) / 2);
}

/**
 * Returns what a choice has and no observation had: as many instances, as large a batch as forms at
 * the level, the same settings.
 */
function extrapolationsBeyond(
  observed: readonly Observed[],
): (choice: Choice, largestBatch: number) => Extrapolation[] {
  const telling = observed.filter(({ observations }) => observations.some(hasServicePoints));
  const points = telling.flatMap(({ observations }) => observations.flatMap(servicePoints));
  const largestSeen = Math.max(...points.map(({ batchSize }) => batchSize));
  const mostInstances = Math.max(...telling.map(({ choice }) => choice.policy.instances));
  const settingsKeys = new Set(telling.map(({ choice }) => choice.settingsKey));
  return ({ policy, settingsKey }, largestBatch) => [
    ...(policy.instances > mostInstances ? (['instances'] as const) : []),
    ...(largestBatch > largestSeen ? (['batch size'] as const) : []),
    ...(settingsKeys.has(settingsKey) ? [] : (['variant'] as const)),
  ];
}

function simulatedModel(
  { times, samples: usualSamples, observed }: FittedTimes,
  { mode, percentile, seed, limits, requests: most = REQUESTS, workloads }: ServiceModelOptions,
): BatcherModel {
  const { of: lawFor, uncertainty: computeUncertainty, roundTripNs } = times;
  const simulateUnder = (
    choice: Choice,
    traffic: Traffic,
    extent: Omit<SimulationOptions, 'seed'>,
    figures: FiguresIn,
  ) => {
    const law = lawFor(choice);
    const simulation = simulate(choice.policy, law, traffic, { ...extent, seed });
    return {
      predicted: figures(simulation),
      largestBatch: simulation.executions.findLastIndex((count) => count > 0),
      uncertainty: meanUncertainty(simulation, law, (batch) =>
        computeUncertainty(choice, batch, simulation.busyInstances),
      ),
    };
  };
  const run = (choice: Choice, level: number): SimulatedRun | null => {
    const samplesPerRequest = choice.clientBatch ?? usualSamples;
    if (samplesPerRequest > largestRequest(choice)) return null;
    const kind = { samplesPerRequest, roundTripNs };
    if (workloads)
      return robustRun(
        workloads,
        loadsAt(workloads, level, MAX_ARRIVALS).map((load) => {
          const extent = { warmUpRequests: 0, requests: load.plan.arrivalsNs.length };
          return simulateUnder(choice, trafficUnder(load, kind), extent, (simulation) =>
            figuresUnder(load, simulation, samplesPerRequest, { percentile, limits }),
          );
        }),
      );
    const isClosed = mode === 'concurrency';
    const extent = {
      warmUpRequests: isClosed ? Math.min(MAX_WARM_UP, 2 * level) : 100,
      requests: isClosed ? enoughRequests(most, level) : most,
    };
    return simulateUnder(choice, toTraffic(mode, level, { ...kind, requests: most }), extent, (simulation) =>
      summarizeFigures(simulation, samplesPerRequest, { percentile, limits }),
    );
  };
  const runs = memoizedRuns(run);
  let beyond: ReturnType<typeof extrapolationsBeyond> | undefined;
  return {
    predict: runs.predict,
    uncertainty: runs.uncertainty,
    toLaw: lawFor,
    gives: givesOfTensors({ limits, workloads }),
    place: placeOfOne,
    extrapolates: (choice, level) => {
      beyond ??= extrapolationsBeyond(observed);
      return beyond(choice, runs.at(choice, level)?.largestBatch ?? 1);
    },
    quality: () => {
      const misses = times.misses();
      return misses.length > 0 ? fitQuality(misses) : null;
    },
    mostThroughput: (choice, level) => {
      if (mode !== 'concurrency') return Number.POSITIVE_INFINITY;
      const samplesPerRequest = choice.clientBatch ?? usualSamples;
      const aloneNs = executionNs(lawFor(choice), samplesPerRequest, 1) + roundTripNs;
      const faster = Math.exp(computeUncertainty(choice, 1, choice.policy.instances));
      return ((level * samplesPerRequest * NS_PER_S) / aloneNs) * faster;
    },
    bound(choice, { limitNs, requests }) {
      const { policy } = choice;
      // A request of several samples is its own batch, and there are never more busy instances than
      // requests.
      const whole = requests ? Math.min(requests.largest, largestRequest(choice)) : 1;
      const instances = requests ? Math.min(policy.instances, requests.inFlight) : policy.instances;
      let best = 0;
      for (let batch = Math.max(choice.largestBatch, whole); batch >= 1; batch = Math.floor(batch / 2)) {
        const uncertainty = computeUncertainty(choice, batch, policy.instances);
        const timeNs =
          executionNs(lawFor(choice), batch, busyBeside(policy, policy.instances)) * Math.exp(-uncertainty);
        const rate = (instances * batch) / timeNs;
        best = Math.max(best, timeNs <= limitNs ? rate : rate / 1e3);
      }
      return best;
    },
  };
}

type FiguresIn = (simulation: Simulation) => SimulatedFigures;

function toTraffic(
  mode: LoadLevel['mode'],
  level: number,
  { samplesPerRequest, roundTripNs, requests }: { samplesPerRequest: number; roundTripNs: number; requests: number },
): Traffic {
  if (mode === 'concurrency') return { kind: 'closed', concurrency: level, roundTripNs, samplesPerRequest };
  const arrivalsNs = Float64Array.from({ length: requests + 100 }, (_, index) => (index * NS_PER_S) / level);
  return { kind: 'open', arrivalsNs, roundTripNs, samplesPerRequest };
}
