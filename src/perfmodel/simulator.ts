import { median } from 'simple-statistics';
import { NS_PER_MS, NS_PER_S } from '#base/units.ts';
import type { LoadLevel } from '#loadgen/types.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { busyBeside } from '#queueing/batcher-policy.ts';
import type { RequestLimits } from '#queueing/continuous/request-limits.ts';
import { affineLaw, executionNs, type ServiceLaw } from '#queueing/service-law.ts';
import { enoughRequests, type SimulationOptions, simulate } from '#queueing/simulate.ts';
import type { Simulation } from '#queueing/tally.ts';
import type { Traffic } from '#queueing/traffic.ts';
import type { Candidate } from '#space/types.ts';
import { hasLimits, type StudyWorkloads } from '#workload/study-workloads.ts';
import { USUAL_PER_SAMPLE } from './affine-line.ts';
import { atClientBatch, type Choice, largestRequest, toChoice } from './modelled-config.ts';
import { observe } from './observe.ts';
import { loadsAt, trafficUnder } from './offered-load.ts';
import type { WithoutParts } from './parts.ts';
import { figuresUnder, robustRun } from './robust-figures.ts';
import { fitServiceTimes, type ServiceTimes } from './service-times.ts';
import {
  meanUncertainty,
  memoizedRuns,
  type Simulated,
  type SimulatedFigures,
  type SimulatedRun,
  type StageLoad,
  summarizeFigures,
} from './simulated.ts';

/** A choice with its measurements. */
export interface MeasuredChoice {
  readonly choice: Choice;
  readonly measurements: readonly Measurement[];
}

/** Returns the measurements of a candidate by its choices, one for each of their client batches. */
export const measuredChoices = (candidate: Candidate, measurements: readonly Measurement[]): MeasuredChoice[] =>
  [...Map.groupBy(measurements, ({ level }) => level.batch)].map(([batch, ofBatch]) => ({
    choice: atClientBatch(toChoice(candidate), batch),
    measurements: ofBatch,
  }));

/** Simulates choices under load, with service laws fitted to measurements. */
export interface Simulator {
  /** Returns null if the choice cannot serve such requests. */
  predict(choice: Choice, level: number): Simulated | null;
  /** The largest batch that forms. */
  largestBatch(choice: Choice, level: number): number;
  /**
   * The standard deviation of the execution times' logarithm at that level; if `front` is given,
   * only of executions that its requests wait for.
   */
  uncertainty(choice: Choice, level: number, front?: string | null): number;
  /**
   * An upper bound on throughput in samples per second, at one standard deviation of execution
   * times: every request in flight is served at once by a lone instance. Infinity for a request
   * rate.
   */
  mostThroughput(choice: Choice, level: number): number;
  /**
   * A rough upper bound on throughput at any level, in samples per nanosecond: all instances busy,
   * execution times one standard deviation below their mean, and the best batch size at which a
   * request takes at most `limitNs`. For ranking choices before they are simulated.
   */
  bound(choice: Choice, limits: BoundLimits): number;
  /** The share of each model in a request's time, 0 to 1; null for a single model. */
  readonly stageShares: ReadonlyMap<string, number> | null;
  /**
   * Returns the use of each model of a network at that level; null if the choice cannot serve such
   * requests. Absent for a single model.
   */
  stageLoads?(choice: Choice, level: number): ReadonlyMap<string, StageLoad> | null;
  /** True if it simulates the requests that keep their limits (`Simulated.goodput`). */
  readonly goodput?: true;
  /** True if it simulates figures of tokens as well (`Simulated.tokens`). */
  readonly tokens?: true;
  /**
   * Returns the bottleneck of a network, and the effect of one more instance; null for a single
   * model.
   */
  bottleneck?(choice: Choice, level: number): StageBottleneck | null;
}

/** The limits of a study that bounds respect. */
export interface BoundLimits {
  readonly limitNs: number;
  /**
   * The largest request of the study, in samples, and the most of them in flight; null if all
   * requests have the same size.
   */
  readonly requests: { readonly largest: number; readonly inFlight: number } | null;
}

/** The bottleneck of a network. */
export interface StageBottleneck {
  /** The stage that gains most from one more instance. */
  readonly stage: string;
  /** Utilisation of its instances, 0 to 1. */
  readonly utilization: number;
  /**
   * Ratio of the mean latency now to that with one more instance, at the same level; in a closed
   * loop also the ratio of throughputs.
   */
  readonly gain: number;
  /** The device that is used up, if no instance helps. */
  readonly device?: string;
}

/** The simulator of one model: Triton's dynamic batcher. */
export interface ModelSimulator extends Simulator {
  /** Returns the service law of a choice. */
  toLaw(choice: Choice): ServiceLaw;
}

/** Options of the simulator. */
export interface SimulatorOptions {
  readonly mode: LoadLevel['mode'];
  /** The percentile of `latency`. */
  readonly percentile: number;
  readonly seed: number;
  /**
   * The limits of a good request; absent: no goodput is simulated, except for an engine, where
   * every request is good.
   */
  readonly limits?: RequestLimits | undefined;
  /** Requests of one simulation; fewer make the tail less certain. */
  readonly requests?: number | undefined;
  readonly without?: WithoutParts | undefined;
  /** The arrivals at a level, if not evenly spaced. */
  readonly workloads?: StudyWorkloads | undefined;
  /**
   * Prior execution time of a candidate relative to others; with `model`, that of one of several
   * models. Default 1.
   */
  readonly expectedTime?: ((candidate: Candidate, model?: string) => number) | undefined;
}

const REQUESTS = 400;
/** Arrivals of one simulation under a workload: fewer make its bursts and its tail less certain. */
const MAX_ARRIVALS = 1600;
/** The most requests of a warm-up. */
const MAX_WARM_UP = 400;

/**
 * Fits the simulator to measurements. Errors: none; without statistics by batch size it scales a
 * usual law to the first measurement.
 */
export function createSimulator(measured: readonly MeasuredChoice[], options: SimulatorOptions): ModelSimulator {
  const observed = measured.map(({ choice, measurements }) => ({
    choice,
    observations: observe(choice, measurements, options.workloads),
  }));
  const serviceTimes = fitServiceTimes(observed, options.without, options.expectedTime);
  if (!serviceTimes) return guessed(measured, options);
  const samples = median(observed.flatMap(({ observations }) => observations.map((each) => each.samplesPerRequest)));
  return simulated(serviceTimes.of, serviceTimes.uncertainty, samples, serviceTimes.roundTripNs, options);
}

function slowed(law: ServiceLaw, factor: number): ServiceLaw {
  return { ...law, points: law.points.map((point) => ({ ...point, executionNs: point.executionNs * factor })) };
}

/**
 * Builds the simulator without statistics: a usual law, scaled to the first measurement's mean
 * latency.
 */
function guessed(measured: readonly MeasuredChoice[], options: SimulatorOptions): ModelSimulator {
  const unit = { ...affineLaw(NS_PER_MS * (1 - USUAL_PER_SAMPLE), NS_PER_MS * USUAL_PER_SAMPLE), cv: 0.1 };
  const usual: ServiceLaw = { ...unit, interference: { perInstance: 0.1, batchExponent: 0 } };
  const first = measured.find(({ measurements }) => measurements.some(({ latencyMs }) => latencyMs.avg > 0));
  const factor = first ? factorFor(usual, first, options) : 10;
  const law = slowed(usual, factor);
  return simulated(
    () => law,
    () => 0,
    1,
    0,
    options,
  );
}

function factorFor(usual: ServiceLaw, { choice, measurements }: MeasuredChoice, options: SimulatorOptions): number {
  const measurement = measurements.find(({ latencyMs }) => latencyMs.avg > 0) as Measurement;
  let [low, high] = [Math.log(1e-3), Math.log(1e5)];
  for (let halving = 0; halving < 20; halving++) {
    const middle = (low + high) / 2;
    const law = slowed(usual, Math.exp(middle));
    const latencyMs = simulated(
      () => law,
      () => 0,
      1,
      0,
      options,
    ).predict(choice, measurement.level.value)?.['latency-avg'];
    if (latencyMs !== undefined && latencyMs < measurement.latencyMs.avg) low = middle;
    else high = middle;
  }
  return Math.exp((low + high) / 2);
}

function simulated(
  lawFor: (choice: Choice) => ServiceLaw,
  computeUncertainty: ServiceTimes['uncertainty'],
  usualSamples: number,
  roundTripNs: number,
  { mode, percentile, seed, limits, requests: most = REQUESTS, workloads }: SimulatorOptions,
): ModelSimulator {
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
  return {
    ...runs.figures,
    uncertainty: (choice, level) => runs.at(choice, level)?.uncertainty ?? 0,
    toLaw: lawFor,
    stageShares: null,
    ...((limits || (workloads && hasLimits(workloads))) && { goodput: true as const }),
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
