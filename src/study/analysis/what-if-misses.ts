import type { Law } from '#perfmodel/laws.ts';
import { createPredictor, type Estimate } from '#perfmodel/predictor.ts';
import { reportDraw } from '../summary/prediction.ts';
import type { Trial } from '../types.ts';

/**
 * The errors of the performance model by cross-validation: each trial predicted from all others and
 * compared with its measurements. `share` of the measurements lie within the spans.
 */
export interface Misses {
  readonly throughput: MissBounds;
  readonly latency: MissBounds;
  readonly share: number;
  readonly measurements: number;
  readonly trials: number;
}

/** Bounds of measured over predicted. */
export interface MissBounds {
  /** As factors: `low` at most 1, `high` at least 1. */
  readonly factors: Bounds;
  /**
   * As logarithms in the standard deviations that the model states: `low` at most 0, `high` at
   * least 0.
   */
  readonly deviations: Bounds;
}

/** Lower and upper bound. */
export interface Bounds {
  readonly low: number;
  readonly high: number;
}

/** Trials that are held out, at most, because each takes a fit. */
const MAX_TRIALS = 10;
const SHARE = 0.9;

/**
 * Cross-validates the performance model over a study's trials; null when no measurement could be
 * predicted from other trials.
 */
export function predictionMisses(trials: readonly Trial[], percentile: number, law: Law): Misses | null {
  const draw = reportDraw(percentile, law.requests.many);
  const telling = trials.filter((trial) => law.listTelling(trial).length > 0);
  const heldOut = spread(telling, MAX_TRIALS);
  const misses = heldOut.flatMap((target) => {
    const others = telling.filter((trial) => trial.number !== target.number);
    const predictor = createPredictor(law, others, draw, [target.candidate]);
    return law.listTelling(target).flatMap((measurement) => {
      const { level, throughput, budgetLatencyMs } = measurement;
      const predicted = predictor?.predict(target.candidate, level);
      if (!predicted) return [];
      return [
        {
          throughput: computeMiss(throughput.value, predicted.throughput),
          latency: computeMiss(budgetLatencyMs.value, predicted.budgetLatency),
        },
      ];
    });
  });
  if (misses.length === 0) return null;
  return {
    throughput: computeSpan(misses.map(({ throughput }) => throughput)),
    latency: computeSpan(misses.map(({ latency }) => latency)),
    share: Math.min(SHARE, Math.max(0, 1 - 2 / (misses.length + 1))),
    measurements: misses.length,
    trials: heldOut.length,
  };
}

/** Standard deviations of a normal distribution that hold 9 of 10 values. */
const OWN_DEVIATIONS = 1.645;

/**
 * Returns the range that 9 of 10 measurements of an estimate lie in: by the model's stated
 * deviation, and wider where cross-validation shows larger errors (a conformal interval with
 * normalised residuals: Papadopoulos and others, 2002). The stated range is never shortened,
 * because measured configs are more alike than those that may be asked about.
 */
export const toRange = ({ value, deviation }: Estimate, { deviations: { low, high } }: MissBounds): Bounds => ({
  low: value * Math.exp(Math.min(low, -OWN_DEVIATIONS) * deviation),
  high: value * Math.exp(Math.max(high, OWN_DEVIATIONS) * deviation),
});

interface Miss {
  readonly log: number;
  readonly deviation: number;
}

const computeMiss = (measured: number, { value, deviation }: Estimate): Miss => ({
  log: Math.log(measured / value),
  deviation,
});

function computeSpan(misses: readonly Miss[]): MissBounds {
  const logs = computeBounds(misses.map(({ log }) => log));
  return {
    factors: { low: Math.exp(logs.low), high: Math.exp(logs.high) },
    deviations: computeBounds(misses.map(({ log, deviation }) => log / deviation)),
  };
}

/**
 * Returns the bounds of 9 of 10 further figures of the same kind (the conformal interval: from
 * either end the ranks that leave a twentieth of n + 1 outside); with fewer than 19 figures the
 * least and the largest, which stand for a smaller share.
 */
function computeBounds(figures: readonly number[]): Bounds {
  const rising = [...figures].sort((a, b) => a - b);
  const outside = Math.max(1, Math.floor(((1 - SHARE) / 2) * (rising.length + 1)));
  return {
    low: Math.min(0, rising[outside - 1] as number),
    high: Math.max(0, rising[rising.length - outside] as number),
  };
}

/** Returns `most` items, evenly spread over the list. */
function spread<T>(all: readonly T[], most: number): T[] {
  if (all.length <= most) return [...all];
  return Array.from({ length: most }, (_, index) => all[Math.round((index * (all.length - 1)) / (most - 1))] as T);
}
