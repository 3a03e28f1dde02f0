import { z } from 'zod';
import { candidateOver } from './grid-space.ts';
import type { Landscape, Truth } from './problem.ts';

const point = z.tuple([
  z.number(),
  z.number(),
  z.number(),
  z.number(),
  z.number(),
  z.number(),
  z.number(),
  z.number(),
  z.number(),
  z.number(),
  z.number(),
  z.array(z.tuple([z.number(), z.number(), z.number(), z.number()])),
]);

const file = z.looseObject({
  name: z.string(),
  source: z.string(),
  columns: z.array(z.string()),
  points: z.array(point).min(1),
});

interface Recorded {
  readonly level: number;
  readonly reloadMs: number;
  readonly truth: Truth;
}

/**
 * A grid of measurements that was recorded on a real server, in the format of `search-grids/`. Between recorded levels
 * figures lie on the line through their logarithms. Every point was measured once: what is taken for true has noise in it, none is added.
 * Errors: ZodError for a file of another format.
 */
export function recordedGrid(json: unknown): Landscape {
  const { name, points } = file.parse(json);
  const byConfig = Map.groupBy(points, ([instances, batch, delay]) => `${instances} ${batch} ${delay}`);
  const values = (column: 0 | 1 | 2 | 3): number[] =>
    [...new Set(points.map((each) => each[column]))].sort((a, b) => a - b);
  const space = candidateOver({ instances: values(0), maxBatchSize: values(1), queueDelayUs: values(2), arms: [{}] });
  const recorded = new Map(
    [...byConfig].map(([key, rows]) => [key, rows.map(recordedOf).sort((a, b) => a.level - b.level)] as const),
  );
  const rowsOf = (candidate: { readonly assignment: object }): readonly Recorded[] => {
    const { instances, maxBatchSize, queueDelayUs } = candidate.assignment as Record<string, number>;
    return recorded.get(`${instances} ${maxBatchSize} ${queueDelayUs}`) ?? [];
  };
  const [low, high] = [Math.min(...values(3)), Math.max(...values(3))];
  return {
    name,
    space,
    baseline: space.candidate({
      instances: values(0)[0] as number,
      maxBatchSize: values(1)[0] as number,
      queueDelayUs: 0,
      arm: 0,
    }),
    levels: { mode: 'concurrency', low, high },
    noise: { throughput: 0, latency: 0 },
    gridLevels: values(3),
    truth: (candidate, level) => between(rowsOf(candidate), level),
    refusal: () => null,
    loadMs: (candidate) => rowsOf(candidate)[0]?.reloadMs ?? 0,
  };
}

function recordedOf([, , , level, reloadMs, throughput, p50, p90, p99, avg, requests, rows]: z.infer<
  typeof point
>): Recorded {
  const batches = rows.map(([size, executions, inferMs, otherMs]) => ({
    size,
    executions,
    meanExecutionUs: (inferMs + otherMs) * 1e3,
  }));
  const samples = batches.reduce((sum, { size, executions }) => sum + size * executions, 0);
  const computeUs =
    batches.reduce((sum, each) => sum + each.size * each.executions * each.meanExecutionUs, 0) / samples;
  const scale = samples > 0 ? requests / samples : 1;
  return {
    level,
    reloadMs,
    truth: {
      throughput,
      latencyMs: { avg, p50, p90, p95: Math.sqrt(p90 * p99), p99 },
      computeUs,
      queueUs: Math.max(0, avg * 1e3 - computeUs - 300),
      batches: batches.map((each) => ({ ...each, executions: Math.max(1, Math.round(each.executions * scale)) })),
    },
  };
}

function between(rows: readonly Recorded[], level: number): Truth {
  const lower = rows.findLast((row) => row.level <= level) ?? (rows[0] as Recorded);
  const upper = rows.find((row) => row.level >= level) ?? (rows.at(-1) as Recorded);
  if (lower === upper) return lower.truth;
  const share = Math.log(level / lower.level) / Math.log(upper.level / lower.level);
  const mix = (a: number, b: number): number => Math.max(a, 1e-3) ** (1 - share) * Math.max(b, 1e-3) ** share;
  const [a, b] = [lower.truth, upper.truth];
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
    computeUs: mix(a.computeUs, b.computeUs),
    batches: share < 0.5 ? a.batches : b.batches,
  };
}
