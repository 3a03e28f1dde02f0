import type { Truth } from './truth.ts';

/** The recorded truth at a level. */
export interface Recorded {
  readonly level: number;
  readonly truth: Truth;
}

/**
 * Interpolates the truth at a level. `rows`: one or more recorded ones in rising order. Between two
 * levels, figures are log-log linear. Above the last, where a recording stops because more requests
 * in flight bring nothing, throughput is constant and latency grows in proportion (Little's law).
 */
export function truthAt(rows: readonly Recorded[], level: number): Truth {
  const lower = rows.findLast((row) => row.level <= level) ?? (rows[0] as Recorded);
  const upper = rows.find((row) => row.level >= level);
  if (!upper) return beyond(lower, level);
  return lower === upper ? lower.truth : between(lower, upper, level);
}

function between(lower: Recorded, upper: Recorded, level: number): Truth {
  const share = Math.log(level / lower.level) / Math.log(upper.level / lower.level);
  const mix = (a: number, b: number): number => Math.max(a, 1e-3) ** (1 - share) * Math.max(b, 1e-3) ** share;
  const [a, b] = [lower.truth, upper.truth];
  const near = share < 0.5 ? a : b;
  const computeUs = mix(a.computeUs, b.computeUs);
  return {
    throughput: mix(a.throughput, b.throughput),
    latencyMs: {
      avg: mix(a.latencyMs.avg, b.latencyMs.avg),
      p50: mix(a.latencyMs.p50, b.latencyMs.p50),
      p90: mix(a.latencyMs.p90, b.latencyMs.p90),
      p95: mix(a.latencyMs.p95, b.latencyMs.p95),
      p99: mix(a.latencyMs.p99, b.latencyMs.p99),
    },
    queueUs: mix(a.queueUs, b.queueUs),
    computeUs,
    batches: near.batches,
    ...(near.split && { split: scaled(near.split, near.computeUs > 0 ? computeUs / near.computeUs : 1) }),
  };
}

const scaled = ({ inputUs, outputUs, overheadUs }: NonNullable<Truth['split']>, factor: number) => ({
  inputUs: inputUs * factor,
  outputUs: outputUs * factor,
  overheadUs,
});

function beyond({ level: last, truth }: Recorded, level: number): Truth {
  const { avg, p50, p90, p95, p99 } = truth.latencyMs;
  const factor = level / last;
  const latencyMs = { avg: avg * factor, p50: p50 * factor, p90: p90 * factor, p95: p95 * factor, p99: p99 * factor };
  return { ...truth, latencyMs, queueUs: truth.queueUs + 1e3 * (latencyMs.avg - avg) };
}
