import type { LoadLevel } from '#loadgen/types.ts';
import { type FitQuality, fitQuality } from '#queueing/calibration/fit-quality.ts';
import type { Candidate } from '#space/types.ts';
import { correctedFigure, MIN_NOISE, type PredictFigure } from './correction.ts';
import { atClientBatch, type Choice, toChoice } from './modelled-config.ts';
import { hasServicePoints, servicePoints } from './observation.ts';
import { isModelled, listObservations, type MeasuredCandidate } from './observations.ts';
import { executionMisses } from './service-times.ts';
import type { PlainFigureName } from './simulated.ts';
import {
  createSimulator,
  type MeasuredChoice,
  type ModelSimulator,
  measuredChoices,
  type Simulator,
} from './simulator.ts';

/**
 * A predicted figure, and the standard deviation of a measurement's logarithm around it, according
 * to the model.
 */
export interface Estimate {
  readonly value: number;
  readonly deviation: number;
}

/** The model's prediction for a config at a load level. */
export interface Predicted {
  /** infer/s. */
  readonly throughput: Estimate;
  /** Milliseconds, at the percentile of the draw. */
  readonly budgetLatency: Estimate;
  /** Milliseconds, computed on demand. */
  latencyMs(percentile: 50 | 90 | 95 | 99): number;
  /**
   * Properties that no measurement behind the model had: as many instances, batches as large, or
   * (`variant`, the word of summary.json) the same other settings. Empty for an interpolation.
   */
  readonly extrapolates: readonly ('instances' | 'batch size' | 'variant')[];
}

/** The default sampler's performance model, fitted to measurements. */
export interface Predictor {
  /**
   * Returns null at a request rate, for models that the simulator does not model, and for requests
   * that the config cannot serve.
   */
  predict(candidate: Candidate, level: LoadLevel): Predicted | null;
  /** The number of measurements that it was fitted to. */
  readonly from: number;
}

/** The performance model of one model. */
export interface ModelPredictor extends Predictor {
  /** The quality of its explanation of these measurements' execution times. */
  readonly quality: FitQuality;
}

/** Settings of the simulation. */
export interface Draw {
  readonly seed: number;
  /** The percentile of `budgetLatency`. */
  readonly percentile: number;
  /** Requests to simulate; fewer make the tail less certain. */
  readonly requests: number;
}

/**
 * Fits the performance model to measured candidates and corrects it by their residuals.
 * `requestedCandidates`: the configs to predict later, in case one has a longer queue delay than
 * the measured ones. null when no measurement has statistics by batch size.
 */
export function createPredictor(
  candidates: readonly MeasuredCandidate[],
  draw: Draw,
  requestedCandidates: readonly Candidate[] = [],
): ModelPredictor | null {
  const measured = candidates
    .filter((each) => listObservations(each).some(hasServicePoints))
    .flatMap(({ candidate, measurements }) => measuredChoices(candidate, measurements));
  if (measured.length === 0) return null;
  const simulator = createSimulator(measured, { mode: 'concurrency', ...draw });
  const choices = requestedCandidates.filter(({ shape }) => isModelled(shape)).map(toChoice);
  const delays = [...measured.map(({ choice }) => choice), ...choices].map(({ delayUs }) => delayUs);
  const figure = correctedFigures(simulator, measured, Math.max(...delays));
  const seen = seenIn(measured);
  return {
    from: seen.observations,
    quality: computeQuality(simulator, measured),
    predict(candidate, level) {
      if (level.mode !== 'concurrency' || !isModelled(candidate.shape)) return null;
      const choice = atClientBatch(toChoice(candidate), level.batch);
      const figures = figuresAt(figure, draw.percentile, choice, level.value);
      return figures && { ...figures, extrapolates: beyond(seen, choice, simulator.largestBatch(choice, level.value)) };
    },
  };
}

/** Estimates one of a simulator's figures; null if the choice cannot serve such requests. */
type EstimateFigure = (name: PlainFigureName, choice: Choice, level: number) => Estimate | null;

/** Percentiles that every measurement has, whatever its budget's percentile. */
const latencies: Readonly<Record<number, PlainFigureName>> = {
  50: 'latency-p50',
  90: 'latency-p90',
  95: 'latency-p95',
  99: 'latency-p99',
};

/** Returns figures corrected by their residuals; each correction is fitted on first use. */
export function correctedFigures(
  simulator: Simulator,
  measured: readonly MeasuredChoice[],
  longestDelayUs: number,
): EstimateFigure {
  const known = new Map<PlainFigureName, PredictFigure>();
  return (name, choice, level) => {
    const predict = known.get(name) ?? correctedFigure(name, simulator, measured, { longestDelayUs });
    known.set(name, predict);
    const predicted = predict(choice, level);
    const noise = name === 'throughput' ? MIN_NOISE.throughput : MIN_NOISE.latency;
    return predicted && { value: Math.exp(predicted.mean), deviation: Math.hypot(predicted.sd, noise) };
  };
}

/** Returns throughput and latencies of a choice at a level; `percentile`: that of the budget. */
export function figuresAt(
  figure: EstimateFigure,
  percentile: number,
  choice: Choice,
  level: number,
): Omit<Predicted, 'extrapolates'> | null {
  const throughput = figure('throughput', choice, level);
  const budgetLatency = figure(latencies[percentile] ?? 'latency', choice, level);
  if (!throughput || !budgetLatency) return null;
  return {
    throughput,
    budgetLatency,
    latencyMs: (each) => figure(latencies[each] ?? 'latency', choice, level)?.value ?? budgetLatency.value,
  };
}

function computeQuality(simulator: ModelSimulator, measured: readonly MeasuredChoice[]): FitQuality {
  const misses = measured.flatMap(({ choice, measurements }) =>
    executionMisses(simulator.toLaw(choice), listObservations({ candidate: choice.candidate, measurements })),
  );
  return fitQuality(misses);
}

/** The extent of the measurements behind a model. */
interface Seen {
  readonly observations: number;
  readonly largestBatch: number;
  readonly mostInstances: number;
  readonly settingsKeys: ReadonlySet<string>;
}

function seenIn(measured: readonly MeasuredChoice[]): Seen {
  const observations = measured
    .flatMap(({ choice, measurements }) => listObservations({ candidate: choice.candidate, measurements }))
    .filter(hasServicePoints);
  return {
    observations: observations.length,
    largestBatch: Math.max(...observations.flatMap(servicePoints).map(({ batchSize }) => batchSize)),
    mostInstances: Math.max(...observations.map(({ policy }) => policy.instances)),
    settingsKeys: new Set(observations.map(({ settingsKey }) => settingsKey)),
  };
}

const beyond = (seen: Seen, { policy, settingsKey }: Choice, largestBatch: number): Predicted['extrapolates'] => [
  ...(policy.instances > seen.mostInstances ? (['instances'] as const) : []),
  ...(largestBatch > seen.largestBatch ? (['batch size'] as const) : []),
  ...(seen.settingsKeys.has(settingsKey) ? [] : (['variant'] as const)),
];
