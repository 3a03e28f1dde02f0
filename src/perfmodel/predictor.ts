import type { LoadLevel } from '#loadgen/types.ts';
import type { FitQuality } from '#queueing/calibration/fit-quality.ts';
import type { Candidate } from '#space/types.ts';
import { correctedFigure, MIN_NOISE, type PredictFigure } from './correction.ts';
import type { Law } from './laws.ts';
import { atClientBatch, type Choice, toChoice } from './modelled-config.ts';
import type { MeasuredCandidate } from './observations.ts';
import { type Extrapolation, type MeasuredChoice, measuredChoices, type ServiceModel } from './service-model.ts';
import type { PlainFigureName } from './simulated.ts';

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
  /** Empty for an interpolation. */
  readonly extrapolates: readonly Extrapolation[];
}

/** A service model that was fitted to measurements and corrected by their residuals. */
export interface Predictor {
  /**
   * Returns null for another mode of load than that of the measurements, for configs that the law
   * does not model, and for requests that the config cannot serve.
   */
  predict(candidate: Candidate, level: LoadLevel): Predicted | null;
  /** The number of measurements that it was fitted to. */
  readonly from: number;
  /** Judges its explanation of these measurements; null if they show nothing of the kind. */
  quality(): FitQuality | null;
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
 * Fits a law to measured candidates and corrects it by their residuals. `requestedCandidates`: the
 * configs to predict later. null when no measurement tells the law anything.
 */
export function createPredictor(
  law: Law,
  candidates: readonly MeasuredCandidate[],
  draw: Draw,
  requestedCandidates: readonly Candidate[] = [],
): Predictor | null {
  const measured = candidates.flatMap((each) => measuredChoices(each.candidate, law.listTelling(each)));
  const measurements = measured.flatMap((each) => each.measurements);
  const mode = measurements[0]?.level.mode;
  if (mode === undefined) return null;
  const requested = requestedCandidates.filter(({ shape }) => law.models(shape)).map(toChoice);
  const all = [...requested, ...measured.map(({ choice }) => choice)];
  const model = law.fit(measured, { mode, ...draw, all });
  const figure = correctedFigures(model, measured, Math.max(...all.map(({ delayUs }) => delayUs)));
  return {
    from: measurements.length,
    quality: () => model.quality(),
    predict(candidate, level) {
      if (level.mode !== mode || !law.models(candidate.shape)) return null;
      const choice = atClientBatch(toChoice(candidate), level.batch);
      const figures = figuresAt(figure, draw.percentile, choice, level.value);
      return figures && { ...figures, extrapolates: model.extrapolates(choice, level.value) };
    },
  };
}

/** Estimates one of a model's figures; null if the choice cannot serve such requests. */
type EstimateFigure = (name: PlainFigureName, choice: Choice, level: number) => Estimate | null;

/** Percentiles that every measurement has, whatever its budget's percentile. */
const latencies: Readonly<Record<number, PlainFigureName>> = {
  50: 'latency-p50',
  90: 'latency-p90',
  95: 'latency-p95',
  99: 'latency-p99',
};

/** Returns figures corrected by their residuals; each correction is fitted on first use. */
function correctedFigures(
  model: ServiceModel,
  measured: readonly MeasuredChoice[],
  longestDelayUs: number,
): EstimateFigure {
  const known = new Map<PlainFigureName, PredictFigure>();
  return (name, choice, level) => {
    const predict = known.get(name) ?? correctedFigure(name, model, measured, { longestDelayUs });
    known.set(name, predict);
    const predicted = predict(choice, level);
    const noise = name === 'throughput' ? MIN_NOISE.throughput : MIN_NOISE.latency;
    return predicted && { value: Math.exp(predicted.mean), deviation: Math.hypot(predicted.sd, noise) };
  };
}

/** Returns throughput and latencies of a choice at a level; `percentile`: that of the budget. */
function figuresAt(
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
