import { correctedFigure, LEAST_NOISE, type PredictFigure } from './correction.ts';
import type { Choice } from './modelled-config.ts';
import type { Estimate, Predicted } from './predictor.ts';
import type { Measured, SimulatedFigures, Simulator } from './simulator.ts';

/** Estimates one of a simulator's figures; null where the choice cannot serve such requests. */
export type EstimateFigure = (name: keyof SimulatedFigures, choice: Choice, level: number) => Estimate | null;

/** Percentiles that every measurement has, whatever its budget's percentile. */
const latencies: Readonly<Record<number, keyof SimulatedFigures>> = {
  50: 'latency-p50',
  90: 'latency-p90',
  95: 'latency-p95',
  99: 'latency-p99',
};

/** Returns figures corrected by their residuals; each correction is fitted on first use. */
export function correctedFigures(
  simulator: Simulator,
  measured: readonly Measured[],
  longestDelayUs: number,
): EstimateFigure {
  const known = new Map<keyof SimulatedFigures, PredictFigure>();
  return (name, choice, level) => {
    const predict = known.get(name) ?? correctedFigure(name, simulator, measured, { longestDelayUs });
    known.set(name, predict);
    const predicted = predict(choice, level);
    const noise = name === 'throughput' ? LEAST_NOISE.throughput : LEAST_NOISE.latency;
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
