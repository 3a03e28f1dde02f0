import { gammaFrom, type Random, standardNormal } from '#base/random.ts';
import { NS_PER_MS } from '#base/units.ts';
import type { CounterReading } from '#explain/readings.ts';
import type { ModelStatistics, StatisticDuration } from '#triton/types.ts';

/** Mean times of executions by batch size, rising. */
export type TimeTable = readonly (readonly [batch: number, ms: number])[];

/** A server whose batcher is not the simulator's. */
export interface OpenServer {
  readonly serviceMs: (batch: number) => number;
  /**
   * How instances share the device: as the share of an execution that holds its lock, or as the
   * slowdown by each other busy instance.
   */
  readonly sharing: { readonly by: 'lock' | 'slowdown'; readonly share: number };
  /** Standard deviation of execution times' logarithm. */
  readonly jitter: number;
  /** Share of the executions that take four times as long. */
  readonly stalls: number;
  /** Time of the front end for each request, one after another. */
  readonly frontMs: number;
}

/** The config of the only model. */
export interface OpenConfig {
  readonly instances: number;
  readonly maxBatch: number;
  readonly delayMs: number;
  /** The batch size that is not waited beyond; by default the largest. */
  readonly preferred?: number;
}

/** What a server did. */
export interface Played {
  readonly latenciesMs: Float64Array;
  readonly readings: readonly CounterReading[];
}

/** Returns the times of batches between those of a table, on straight lines. */
export function interpolate(table: TimeTable): (batch: number) => number {
  return (batch) => {
    const next = table.findIndex(([size]) => size >= batch);
    if (next === 0) return (table[0] as readonly [number, number])[1];
    const [[a, x], [b, y]] = (next < 0 ? table.slice(-2) : table.slice(next - 1, next + 1)) as [
      [number, number],
      [number, number],
    ];
    return x + ((batch - a) * (y - x)) / (b - a);
  };
}

/** Gap between requests of a group. */
const GROUP_GAP_MS = 0.2;

/**
 * Returns arrivals in milliseconds: of groups with this mean size, whose beginnings are a Poisson
 * process. With size 1, requests are independent.
 */
export function drawGroups(meanSize: number, perSecond: number, requests: number, random: Random): Float64Array {
  const draw = gammaFrom(1, random);
  const times = new Float64Array(requests);
  for (let index = 0, startMs = 0; index < requests; ) {
    startMs += (1e3 / perSecond) * meanSize * draw();
    let atMs = startMs;
    do {
      times[index++] = atMs;
      atMs += GROUP_GAP_MS * draw();
    } while (index < requests && random.float() >= 1 / meanSize);
  }
  return times.sort();
}

interface Execution {
  readonly first: number;
  readonly count: number;
  readonly startMs: number;
  readonly endMs: number;
}

/**
 * Plays open traffic on a server. Requests wait in order of arrival; a batch is formed when an
 * instance is idle and either enough of them wait or the oldest has waited for the delay.
 * `arrivalsMs`: rising. `count`: readings at even distances.
 */
export function playOpen(
  server: OpenServer,
  { instances, maxBatch, delayMs, preferred = maxBatch }: OpenConfig,
  { arrivalsMs, count, random }: { readonly arrivalsMs: Float64Array; readonly count: number; readonly random: Random },
): Played {
  const requests = arrivalsMs.length;
  const reachedMs = passFront(arrivalsMs, server.frontMs);
  const everyMs = (arrivalsMs.at(-1) as number) / count;
  const latenciesMs = new Float64Array(requests);
  const readings: CounterReading[] = [];
  const totals: Totals = { requests: 0, latencyMs: 0, queueMs: 0, executions: 0, bySize: new Map() };
  let running: Execution[] = [];
  let [taken, arrived, nowMs, lockedUntilMs] = [0, 0, 0, 0];
  const executionEndMs = (batch: number): number => {
    const spread = Math.exp(server.jitter * standardNormal(random)) * (random.float() < server.stalls ? 4 : 1);
    const aloneMs = server.serviceMs(batch) * spread;
    const { by, share } = server.sharing;
    if (by === 'slowdown') return nowMs + aloneMs * (1 + share * running.length);
    lockedUntilMs = Math.max(nowMs + aloneMs * (1 - share), lockedUntilMs) + aloneMs * share;
    return lockedUntilMs;
  };
  while (taken < requests || running.length > 0) {
    while (arrived < requests && (reachedMs[arrived] as number) <= nowMs) arrived++;
    const waiting = arrived - taken;
    const dueMs = waiting > 0 ? (reachedMs[taken] as number) + delayMs : Number.POSITIVE_INFINITY;
    const isDue = waiting >= preferred || nowMs >= dueMs;
    if (waiting > 0 && isDue && running.length < instances) {
      const batch = Math.min(waiting, waiting >= preferred && nowMs < dueMs ? preferred : maxBatch);
      running.push({ first: taken, count: batch, startMs: nowMs, endMs: executionEndMs(batch) });
      taken += batch;
      continue;
    }
    const arrivalMs = reachedMs[arrived] ?? Number.POSITIVE_INFINITY;
    nowMs = Math.min(arrivalMs, isDue ? Number.POSITIVE_INFINITY : dueMs, ...running.map(({ endMs }) => endMs));
    while (readings.length * everyMs <= nowMs) readings.push(toReading(readings.length * everyMs, totals));
    for (const execution of running) {
      if (execution.endMs <= nowMs) finish(execution, { arrivalsMs, reachedMs, latenciesMs }, totals);
    }
    running = running.filter(({ endMs }) => endMs > nowMs);
  }
  return { latenciesMs, readings };
}

/** Returns the times at which requests have passed the front end. */
function passFront(arrivalsMs: Float64Array, frontMs: number): Float64Array {
  let freeMs = 0;
  return arrivalsMs.map((atMs) => {
    freeMs = Math.max(atMs, freeMs) + frontMs;
    return freeMs;
  });
}

interface Totals {
  requests: number;
  latencyMs: number;
  queueMs: number;
  executions: number;
  readonly bySize: Map<number, { executions: number; ms: number }>;
}

interface Times {
  readonly arrivalsMs: Float64Array;
  readonly reachedMs: Float64Array;
  readonly latenciesMs: Float64Array;
}

function finish({ first, count, startMs, endMs }: Execution, times: Times, totals: Totals): void {
  const size = totals.bySize.get(count) ?? { executions: 0, ms: 0 };
  totals.bySize.set(count, { executions: size.executions + 1, ms: size.ms + endMs - startMs });
  totals.executions += 1;
  for (let request = first; request < first + count; request++) {
    const latencyMs = endMs - (times.arrivalsMs[request] as number);
    times.latenciesMs[request] = latencyMs;
    totals.requests += 1;
    totals.latencyMs += latencyMs;
    totals.queueMs += startMs - (times.reachedMs[request] as number);
  }
}

/** Shares of an execution's time, as Triton counts them. */
const PARTS = { computeInput: 0.05, computeInfer: 0.9, computeOutput: 0.05 };

function toReading(atMs: number, { requests, latencyMs, queueMs, executions, bySize }: Totals): CounterReading {
  const duration = (count: number, ms: number): StatisticDuration => ({ count, ns: Math.round(ms * NS_PER_MS) });
  const parts = (count: number, ms: number) => ({
    computeInput: duration(count, PARTS.computeInput * ms),
    computeInfer: duration(count, PARTS.computeInfer * ms),
    computeOutput: duration(count, PARTS.computeOutput * ms),
  });
  const none = duration(0, 0);
  const sizes = [...bySize];
  const computeMs = sizes.reduce((sum, [size, { ms }]) => sum + size * ms, 0);
  const statistics: ModelStatistics = {
    name: 'model',
    version: '1',
    lastInferenceMs: 0,
    inferenceCount: requests,
    executionCount: executions,
    success: duration(requests, latencyMs),
    fail: none,
    queue: duration(requests, queueMs),
    ...parts(requests, computeMs),
    cacheHit: none,
    cacheMiss: none,
    batchStats: sizes.map(([batchSize, { executions: count, ms }]) => ({ batchSize, ...parts(count, ms) })),
    memoryUsage: [],
  };
  return { atNs: atMs * NS_PER_MS, statistics: [statistics] };
}
