import { z } from 'zod';
import { type Recorded, truthAt } from './between-levels.ts';
import { candidateOver } from './grid-space.ts';
import type { Landscape } from './problem.ts';

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

type Row = Recorded & { readonly reloadMs: number };

/**
 * A grid of measurements that was recorded on a real server before `tritune record`, in the format of its one file in `search-grids/`. Between recorded levels
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
  const rowsOf = (candidate: { readonly assignment: object }): readonly Row[] => {
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
    truth: (candidate, level) => truthAt(rowsOf(candidate), level),
    refusal: () => null,
    loadMs: (candidate) => rowsOf(candidate)[0]?.reloadMs ?? 0,
  };
}

function recordedOf([, , , level, reloadMs, throughput, p50, p90, p99, avg, requests, rows]: z.infer<
  typeof point
>): Row {
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
