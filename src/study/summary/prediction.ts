import type { LoadLevel } from '#loadgen/types.ts';
import { createEnginePredictor } from '#perfmodel/continuous/engine-predictor.ts';
import { createPredictor } from '#perfmodel/predictor.ts';
import { representative } from '../final/final.ts';
import type { StudyState } from '../records/state.ts';
import { trialsToFit } from '../search/queueing/training-subset.ts';
import type { Trial } from '../types.ts';
import type { Prediction } from './point-schema.ts';

const SIMULATED_REQUESTS = 4000;
/** The same for an engine, whose requests take many steps. */
const ENGINE_REQUESTS = 600;
/**
 * The seed of simulations for reports; constant, so that the same journal gives the same report.
 */
const REPORT_SEED = 1;

/** The settings of a report's simulations; `requests` is for reports with many predictions. */
export const reportDraw = (percentile: number, requests = SIMULATED_REQUESTS) => ({
  seed: REPORT_SEED,
  percentile,
  requests,
});

/**
 * The held-out prediction of the study's best at the level that stands for it; null as
 * `predictTrial`. It is fitted to the trials as they would have been at the machine's usual speed,
 * and is to be compared with the best's figures at that speed: a machine that drifts is then no
 * miss of the model.
 */
export function predictBest(state: StudyState): Prediction | null {
  const measurement = state.best && representative(state, state.best)?.measurement;
  if (!state.best || !measurement) return null;
  const { percentile } = measurement.budgetLatencyMs;
  const trials = trialsToFit(state.compared.trials, state.goal);
  return predictTrial(trials, state.best, measurement.level, REPORT_SEED, percentile);
}

/**
 * A held-out prediction by the model that chose: service laws and corrections are fitted to the
 * measurements of all other trials, never to the target's own, and the target's batcher or engine
 * is simulated at that level. null if it cannot say: for a batcher at a request rate, for models
 * without the dynamic batcher's scheduling (sequences, ensembles, decoupled), and when no other
 * trial has statistics by batch size. Configs that differ in more than instances and batching are
 * variants of the model: each has a level of its own, unknown for a variant that no other trial
 * has; it is then taken to be like the others.
 */
export function predictTrial(
  trials: readonly Trial[],
  target: Trial,
  level: LoadLevel,
  seed: number,
  percentile = 99,
): Prediction | null {
  const others = trials.filter((trial) => trial.number !== target.number);
  const draw = { seed, percentile, requests: SIMULATED_REQUESTS };
  const predictor = target.candidate.shape.continuous
    ? createEnginePredictor(others, { ...draw, requests: ENGINE_REQUESTS }, [target.candidate])
    : createPredictor(others, draw, [target.candidate]);
  const predicted = predictor?.predict(target.candidate, level);
  if (!predictor || !predicted) return null;
  const { throughput, budgetLatency, latencyMs, extrapolates } = predicted;
  return {
    throughput: throughput.value,
    latencyMs: { p50: latencyMs(50), p90: latencyMs(90), p95: latencyMs(95), p99: latencyMs(99) },
    budgetLatencyMs: { percentile, value: budgetLatency.value },
    from: predictor.from,
    quality: predictor.quality,
    extrapolates,
  };
}
