import type { LoadLevel } from '#loadgen/types.ts';
import { findLaw } from '#perfmodel/laws.ts';
import { createPredictor, type Draw } from '#perfmodel/predictor.ts';
import type { Topology } from '#space/topology.ts';
import { representative } from '../final/final.ts';
import type { StudyState } from '../records/state.ts';
import { trialsToFit } from '../search/queueing/training-subset.ts';
import type { Trial } from '../types.ts';
import type { Prediction } from './point-schema.ts';

/**
 * The seed of simulations for reports; constant, so that the same journal gives the same report.
 */
const REPORT_SEED = 1;

/** Returns the settings for the simulations of a report, each with this many requests. */
export const reportDraw = (percentile: number, requests: number): Draw => {
  return { seed: REPORT_SEED, percentile, requests };
};

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
  return predictTrial(trials, state.best, measurement.level, percentile, state.started.topology);
}

/**
 * A held-out prediction by the model that chose: the law and its corrections are fitted to the
 * measurements of all other trials, never to the target's own, and the target is simulated at that
 * level. null if it cannot say: for a batcher at a request rate, for configs that the law does not
 * model, and when no other trial tells it anything. Configs that differ in more than instances and
 * batching are variants of the model: each has a level of its own, unknown for a variant that no
 * other trial has; it is then taken to be like the others.
 */
export function predictTrial(
  trials: readonly Trial[],
  target: Trial,
  level: LoadLevel,
  percentile = 99,
  topology?: Topology,
): Prediction | null {
  const law = findLaw(topology, target.candidate.shape);
  const others = trials.filter((trial) => trial.number !== target.number);
  const predictor = createPredictor(law, others, reportDraw(percentile, law.requests.one), [target.candidate]);
  const predicted = predictor?.predict(target.candidate, level);
  const quality = predicted && predictor?.quality();
  if (!predictor || !predicted || !quality) return null;
  const { throughput, budgetLatency, latencyMs, extrapolates } = predicted;
  return {
    throughput: throughput.value,
    latencyMs: { p50: latencyMs(50), p90: latencyMs(90), p95: latencyMs(95), p99: latencyMs(99) },
    budgetLatencyMs: { percentile, value: budgetLatency.value },
    from: predictor.from,
    quality,
    extrapolates,
  };
}
