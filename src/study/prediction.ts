import { canonicalJson } from '../base/json.ts';
import type { LoadLevel } from '../loadgen/types.ts';
import { correctedFigure, type PredictFigure } from '../perfmodel/correction.ts';
import { type Choice, choiceOf } from '../perfmodel/modelled-config.ts';
import { isModelled, observationsOf } from '../perfmodel/observations.ts';
import { executionMisses } from '../perfmodel/service-times.ts';
import { type Measured, type Simulated, type Simulator, simulatorOf } from '../perfmodel/simulator.ts';
import { type FitQuality, fitQuality } from '../queueing/fit-quality.ts';
import { hasServicePoints, servicePoints } from '../queueing/observation.ts';
import type { ModelConfig } from '../triton/model-config.ts';
import { representative } from './final.ts';
import type { StudyState } from './state.ts';
import type { Trial } from './types.ts';

/** What the queueing model expects of a candidate at a load level, before anybody has measured it. */
export interface Prediction {
  /** infer/s. */
  readonly throughput: number;
  readonly latencyMs: { readonly p50: number; readonly p90: number; readonly p95: number; readonly p99: number };
  /** At the percentile asked for. */
  readonly budgetLatencyMs: { readonly percentile: number; readonly value: number };
  /** Measurements that the model was fitted to. */
  readonly from: number;
  /** How well the model explains these measurements themselves; one that does so badly foretells little. */
  readonly quality: FitQuality;
  /** What none of these had: so many instances, batches so large, or the same other settings. Empty: nothing. */
  readonly extrapolates: readonly ('instances' | 'batch size' | 'variant')[];
}

export const SIMULATED_REQUESTS = 4000;
/** Of reports: the same journal gives the same report. */
export const REPORT_SEED = 1;

/**
 * The held-out prediction of the study's best at the level that stands for it; null as `predictTrial`. It is fitted to the trials as they
 * would have been at the machine's usual speed, and is to be compared with the best's figures at that speed: a machine that drifts is then
 * no miss of the model.
 */
export function predictBest(state: StudyState): Prediction | null {
  const measurement = state.best && representative(state, state.best)?.measurement;
  if (!state.best || !measurement) return null;
  const { percentile } = measurement.budgetLatencyMs;
  return predictTrial(state.compared.trials, state.best, measurement.level, REPORT_SEED, percentile);
}

/**
 * A held-out prediction by the model that chose: service laws and corrections are fitted to the measurements of all other trials, never to the
 * target's own, and the target's batcher is simulated at that level. null where it cannot say: at a request rate, for models
 * without the dynamic batcher's scheduling (sequences, ensembles, decoupled), and when no other trial has statistics by
 * batch size. Configs that differ in more than instances and batching are variants of the model: each has a level of its
 * own, unknown for a variant that no other trial has; it is then taken to be like the others.
 */
export function predictTrial(
  trials: readonly Trial[],
  target: Trial,
  level: LoadLevel,
  seed: number,
  percentile = 99,
): Prediction | null {
  const others = trials.filter((trial) => trial.number !== target.number);
  return predictBy(others, target.candidate.config, level, { seed, percentile });
}

/** What the model of the default sampler, fitted to all of these trials and corrected by them, expects of a config at a level. */
function predictBy(trials: readonly Trial[], config: ModelConfig, level: LoadLevel, draw: Draw): Prediction | null {
  if (level.mode !== 'concurrency' || !isModelled(config)) return null;
  const telling = trials.filter((trial) => observationsOf(trial).some(hasServicePoints));
  const measured = telling.map(({ candidate, measurements }) => ({ choice: choiceOf(candidate), measurements }));
  if (measured.length === 0) return null;
  const choice = choiceOf({ config, assignment: {}, fingerprint: canonicalJson(config) });
  const longestDelayUs = Math.max(choice.delayUs, ...measured.map((each) => each.choice.delayUs));
  const model = modelOf(measured, draw, longestDelayUs);
  return predictionOf(choice, level.value, { model, seen: seenIn(telling), percentile: draw.percentile });
}

/** How a prediction is simulated. */
export interface Draw {
  readonly seed: number;
  /** Of `budgetLatencyMs`. */
  readonly percentile: number;
  /** Requests to simulate; fewer are quicker and less sure of the tail. */
  readonly requests?: number;
}

/** The simulator with its corrections, each of which is fitted when it is first asked for. */
interface Model {
  readonly simulator: Simulator;
  readonly quality: FitQuality;
  figure(name: keyof Simulated, choice: Choice, level: number): number | null;
}

function modelOf(
  measured: readonly Measured[],
  { seed, percentile, requests = SIMULATED_REQUESTS }: Draw,
  longestDelayUs: number,
): Model {
  const simulator = simulatorOf(measured, { mode: 'concurrency', percentile, seed, requests });
  const figures = new Map<keyof Simulated, PredictFigure>();
  return {
    simulator,
    quality: qualityOf(simulator, measured),
    figure(name, choice, level) {
      const figure = figures.get(name) ?? correctedFigure(name, simulator, measured, { longestDelayUs });
      figures.set(name, figure);
      const predicted = figure(choice, level);
      return predicted && Math.exp(predicted.mean);
    },
  };
}

/** How well the service laws explain the execution times that they were fitted to. */
function qualityOf(simulator: Simulator, measured: readonly Measured[]): FitQuality {
  const misses = measured.flatMap(({ choice, measurements }) =>
    executionMisses(simulator.lawOf(choice), observationsOf({ candidate: choice.candidate, measurements })),
  );
  return fitQuality(misses);
}

/** Latencies that measurements have whatever the percentile of their budget was. */
const byPercentile: Readonly<Record<number, keyof Simulated>> = {
  50: 'latency-p50',
  90: 'latency-p90',
  95: 'latency-p95',
  99: 'latency-p99',
};

/** What the measurements behind a model had. */
interface Seen {
  readonly observations: number;
  readonly largestBatch: number;
  readonly mostInstances: number;
  readonly variants: ReadonlySet<string>;
}

function seenIn(trials: readonly Trial[]): Seen {
  const observations = trials.flatMap(observationsOf).filter(hasServicePoints);
  return {
    observations: observations.length,
    largestBatch: Math.max(...observations.flatMap(servicePoints).map(({ batchSize }) => batchSize)),
    mostInstances: Math.max(...observations.map(({ policy }) => policy.instances)),
    variants: new Set(observations.map(({ variant }) => variant)),
  };
}

function predictionOf(
  choice: Choice,
  level: number,
  { model, seen, percentile }: { readonly model: Model; readonly seen: Seen; readonly percentile: number },
): Prediction | null {
  const { policy, variant } = choice;
  const figure = (name: keyof Simulated): number | null => model.figure(name, choice, level);
  const [throughput, value] = [figure('throughput'), figure(byPercentile[percentile] ?? 'latency')];
  if (throughput === null || value === null) return null;
  const latency = (name: keyof Simulated): number => figure(name) ?? value;
  return {
    throughput,
    latencyMs: {
      p50: latency('latency-p50'),
      p90: latency('latency-p90'),
      p95: latency('latency-p95'),
      p99: latency('latency-p99'),
    },
    budgetLatencyMs: { percentile, value },
    from: seen.observations,
    quality: model.quality,
    extrapolates: [
      ...(policy.instances > seen.mostInstances ? (['instances'] as const) : []),
      ...(model.simulator.largestBatch(choice, level) > seen.largestBatch ? (['batch size'] as const) : []),
      ...(seen.variants.has(variant) ? [] : (['variant'] as const)),
    ],
  };
}
