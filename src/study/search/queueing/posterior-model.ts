import {
  correctedFigure,
  type LogFigure,
  listHypotheses,
  type PendingPoint,
  type PredictFigure,
} from '#perfmodel/correction.ts';
import { gpuMemoryNeed } from '#perfmodel/gpu-memory-need.ts';
import type { Choice } from '#perfmodel/modelled-config.ts';
import type { Place } from '#perfmodel/places.ts';
import type { MeasuredChoice, ServiceModel } from '#perfmodel/service-model.ts';
import { type FigureName, figureNamed } from '#perfmodel/simulated.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { Candidate } from '#space/types.ts';
import { computePosterior, type NoisyReading, type Normal, type Posterior } from '#stats/gaussian-process.ts';
import { listConstraints } from '../../goal/goal.ts';
import type { Derivation } from '../../goal/metrics/metric.ts';
import { type Metrics, toMetrics } from '../../goal/metrics/registry.ts';
import type { Goal, PredictedPoint } from '../../types.ts';
import {
  type Cost,
  cheaperChance,
  computeMoments,
  constrainedImprovement,
  type FigureConstraint,
  feasibleChance,
  weighted,
} from './constrained-improvement.ts';
import { countedShifts, deviceIn, followed, type PredictedMetric } from './followed.ts';
import { NOTHING, type Without } from './mechanisms.ts';

/** The posterior prediction for a choice at a level, in terms of the goal. */
export interface PosteriorPrediction {
  /** As `Assessment.cost`: a weighted mean of logarithms, lower is better. */
  readonly cost: Normal;
  /**
   * The mean of the cost without the steps of a whole number of replicas: it distinguishes levels
   * of one choice.
   */
  readonly smoothCost: number;
  /**
   * The probability that every constraint is met, with every standard deviation multiplied by
   * `inflation`.
   */
  feasibleChance(inflation: number): number;
  /**
   * The expected improvement over the cost `best` where every constraint is met, inflated likewise.
   */
  expectedImprovement(best: number, inflation: number): number;
  /** The probability of a cost below `most` where every constraint is met, inflated likewise. */
  cheaperChance(most: number, inflation: number): number;
}

/** Predicts the goal's metrics from the service model and the measurements. */
export interface PosteriorModel {
  /** null if the choice cannot serve such requests. */
  predict(choice: Choice, level: number): PosteriorPrediction | null;
  /**
   * The posterior medians of throughput and latency, whatever the goal; null if the choice cannot
   * serve such requests.
   */
  predictedPoint(choice: Choice, level: number): PredictedPoint | null;
  toPlace(choice: Choice, level: number): Place;
}

/**
 * Builds the posterior model of the goal's metrics. Simulated figures are corrected by a Gaussian
 * process on their residuals (`correctedFigure`); GPU memory has a linear model; any other metric
 * is regressed on its readings alone. `longestDelayUs`: the longest queue delay of the space, by
 * which delays are scaled. `pending`: points that are being measured meanwhile; predictions are
 * surer where these will be informative.
 */
export function createPosteriorModel(
  serviceModel: ServiceModel,
  measured: readonly MeasuredChoice[],
  goal: Goal,
  longestDelayUs: number,
  without: Without = NOTHING,
  pending: readonly PendingPoint[] = [],
): PosteriorModel {
  const place = (choice: Choice, level: number): Place => serviceModel.place(choice, level, longestDelayUs);
  const constraints = listConstraints(goal).filter(({ metric }) => metric !== 'error-rate');
  const names = new Set([...goal.objectives.map(({ metric }) => metric), ...constraints.map(({ metric }) => metric)]);
  const device = deviceIn(measured);
  const models = new Map<string, MetricModel>();
  const modelFor = (name: string): MetricModel => {
    const correction = { place, longestDelayUs, without, metrics: toMetrics(goal), pending };
    const model = models.get(name) ?? memoized(createMetricModel(name, serviceModel, measured, correction));
    models.set(name, model);
    return model;
  };
  const total = goal.objectives.reduce((sum, { weight }) => sum + weight, 0);
  const shifts = new Map<string, readonly number[]>();
  const listShifts = (name: string, follows: Derivation): readonly number[] => {
    const shift = shifts.get(name) ?? countedShifts(follows, measured, toMetrics(goal));
    shifts.set(name, shift);
    return shift;
  };

  const predict = (choice: Choice, level: number): PosteriorPrediction | null => {
    const at = new Map<string, PredictedMetric>();
    for (const name of names) {
      const { follows } = toMetrics(goal).named(name);
      const predicted = follows
        ? followed(follows, listShifts(name, follows), modelFor, choice, level, device)
        : modelFor(name)(choice, level);
      if (predicted === null) return null;
      at.set(name, 'figure' in predicted ? predicted : { figure: predicted });
    }
    const parts = goal.objectives.map(({ metric, weight }) => {
      const sign = toMetrics(goal).named(metric).better === 'higher' ? -1 : 1;
      return { ...(at.get(metric) as PredictedMetric), weight: (sign * weight) / total };
    });
    const linear = weighted(parts.filter(({ of }) => !of));
    const stepped = parts.flatMap(({ of, ...part }) => (of ? [{ ...part, of }] : []));
    const cost: Cost = { linear, stepped };
    const limits = constraints.map(({ metric, relation, value }): FigureConstraint => {
      const { figure, of } = at.get(metric) as PredictedMetric;
      return { figure, of, value: Math.log(value), relation };
    });
    return {
      cost: computeMoments(cost),
      smoothCost: stepped.reduce((sum, { smooth, weight }) => sum + weight * (smooth ?? 0), linear.mean),
      feasibleChance: (inflation) => feasibleChance(limits, inflation),
      expectedImprovement: (best, inflation) => constrainedImprovement(cost, limits, best, inflation),
      cheaperChance: (most, inflation) => cheaperChance(cost, limits, most, inflation),
    };
  };
  return {
    toPlace: place,
    predictedPoint(choice, level) {
      const medians = (names: readonly string[]): (number | undefined)[] =>
        names.map((name) => modelFor(name)(choice, level)).map((figure) => figure?.mean && Math.exp(figure.mean));
      const [throughput, latencyMs] = medians(['throughput', 'latency']);
      if (throughput === undefined || latencyMs === undefined) return null;
      const [perSecond, perUser] = serviceModel.gives('output-token-throughput')
        ? medians(['output-token-throughput', 'output-tokens-per-user'])
        : [];
      const tokens = perSecond !== undefined && perUser !== undefined ? { tokens: { perSecond, perUser } } : {};
      return { throughput, latencyMs, ...tokens };
    },
    predict,
  };
}

/** Predicts the logarithm of one metric at a choice and level. */
type MetricModel = PredictFigure;

/** Memoizes the predictions of a metric. */
function memoized(model: MetricModel): MetricModel {
  const known = new Map<string, LogFigure | null>();
  return (choice, level) => {
    const key = `${choice.candidate.fingerprint} ${choice.clientBatch} ${level}`;
    const earlier = known.get(key);
    if (earlier !== undefined) return earlier;
    const normal = model(choice, level);
    known.set(key, normal);
    return normal;
  };
}

type PlaceOf = (choice: Choice, level: number) => Place;

interface Correction {
  readonly place: PlaceOf;
  readonly longestDelayUs: number;
  readonly without: Without;
  readonly metrics: Metrics;
  readonly pending: readonly PendingPoint[];
}

function createMetricModel(
  name: string,
  serviceModel: ServiceModel,
  measured: readonly MeasuredChoice[],
  { place, longestDelayUs, without, metrics, pending }: Correction,
): MetricModel {
  if (name === 'instances') return ({ policy }) => exactly(policy.instances);
  if (name === 'max-batch-size') return ({ policy }) => exactly(Math.max(1, policy.maxBatchSize));
  if (name === 'gpu-memory') return gpuMemoryModel(measured);
  if (name === PER_GPU && serviceModel.gives(OF_ALL_GPUS))
    return perGpuModel(serviceModel, measured, { place, longestDelayUs, without, metrics, pending });
  return isSimulated(name, serviceModel)
    ? correctedFigure(name, serviceModel, measured, { longestDelayUs, without, pending })
    : learnedModel(name, measured, place, metrics);
}

/** True if the service model gives the figure. */
function isSimulated(name: string, serviceModel: ServiceModel): name is FigureName {
  const named = figureNamed(name);
  return named !== null && serviceModel.gives(named.figure);
}

/** Returns an exactly known figure. Its standard deviation only keeps the arithmetic finite. */
const exactly = (value: number): LogFigure => ({ mean: Math.log(value), sd: 1e-6, shared: 0 });

/**
 * A predicted need is at least this multiple of its standard deviation, so that it has a logarithm.
 */
const MIN_NEED = 0.5;

function gpuMemoryModel(measured: readonly MeasuredChoice[]): MetricModel {
  const needs = gpuMemoryNeed(measured);
  return (choice) => {
    if (needs === null) return UNKNOWN;
    const { mean, sd } = needs.mib(choice);
    const need = Math.max(mean, MIN_NEED * sd);
    return { mean: Math.log(need), sd: sd / need, shared: 0 };
  };
}

/** The prediction of a metric that was never read: hardly any information. */
const UNKNOWN: LogFigure = { mean: 0, sd: 5, shared: 0 };

const learnedHypotheses = listHypotheses([0.1, 0.3, 0.6], 0.3, { common: 0.5, locals: [0.05] });

const PER_GPU = 'output-tokens-per-gpu';
const OF_ALL_GPUS = 'output-token-throughput';

/**
 * Predicts the output tokens per GPU: the simulated total, over the number of GPUs of similar
 * candidates.
 */
function perGpuModel(
  serviceModel: ServiceModel,
  measured: readonly MeasuredChoice[],
  correction: Correction,
): MetricModel {
  const { longestDelayUs, without, metrics, place, pending } = correction;
  const ofAll = correctedFigure(OF_ALL_GPUS, serviceModel, measured, { longestDelayUs, without, pending });
  const share = regressed(measured, place, (measurement, candidate) => {
    const [perGpu, all] = [PER_GPU, OF_ALL_GPUS].map((name) => metrics.read(name, measurement, candidate));
    return perGpu !== undefined && all !== undefined && all > 0 ? perGpu / all : undefined;
  });
  return (choice, level) => {
    const [all, ratio] = [ofAll(choice, level), share(choice, level)];
    return all && ratio && { mean: all.mean + ratio.mean, sd: Math.hypot(all.sd, ratio.sd), shared: all.shared };
  };
}

/**
 * Regresses a metric that the service model does not give on its readings: a Gaussian process
 * around their mean.
 */
const learnedModel = (
  name: string,
  measured: readonly MeasuredChoice[],
  place: PlaceOf,
  metrics: Metrics,
): MetricModel => regressed(measured, place, (measurement, candidate) => metrics.read(name, measurement, candidate));

/** Regresses a figure on readings of the measurements. */
function regressed(
  measured: readonly MeasuredChoice[],
  place: PlaceOf,
  read: (measurement: Measurement, candidate: Candidate) => number | undefined,
): MetricModel {
  const readings = measured.flatMap(({ choice, measurements }) =>
    measurements.flatMap((measurement): NoisyReading<Place>[] => {
      const value = read(measurement, choice.candidate);
      const at = place(choice, measurement.level.value);
      return value !== undefined && value > 0 ? [{ place: at, value: Math.log(value), noiseVariance: 0.02 ** 2 }] : [];
    }),
  );
  if (readings.length === 0) return () => UNKNOWN;
  const mean = readings.reduce((sum, { value }) => sum + value, 0) / readings.length;
  const centred = readings.map((reading) => ({ ...reading, value: reading.value - mean }));
  const posterior: Posterior<Place> = computePosterior(centred, learnedHypotheses);
  return (choice, level) => {
    const normal = posterior(place(choice, level));
    return { mean: normal.mean + mean, sd: normal.sd, shared: 0 };
  };
}
