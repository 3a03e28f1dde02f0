import { quantileSorted } from 'simple-statistics';
import type { Random } from '../../src/base/random.ts';
import { standardNormal } from '../../src/base/random.ts';
import { MS_PER_S } from '../../src/base/units.ts';
import type { Truth } from './truth.ts';

/** A queueing discipline other than Triton's. Times are in milliseconds. */
export interface Discipline {
  /** The order in which waiting requests are taken. */
  readonly order: 'oldest first' | 'at random';
  /**
   * A second, Poisson source of requests per second. They go first if `isUrgent`, and count in no
   * figure.
   */
  readonly others: { readonly perSecond: number; readonly isUrgent: boolean };
  /** The execution time of a lone instance: a fixed part, … */
  readonly fixedMs: number;
  /** … and a part per sample. */
  readonly perSampleMs: number;
  /** Busy instances beyond this number share the cores (processor sharing). */
  readonly cores: number;
  /**
   * The standard deviation of an execution's logarithmic work, and its autocorrelation from one
   * execution to the next.
   */
  readonly spread: number;
  readonly memory: number;
  readonly roundTripMs: number;
}

/** The part of a config that such a server applies. */
export interface ServedWith {
  readonly instances: number;
  readonly maxBatchSize: number;
  /** null if batches do not wait. */
  readonly delayMs: number | null;
}

interface Request {
  readonly sentMs: number;
  readonly isOthers: boolean;
}

interface Execution {
  readonly requests: readonly Request[];
  readonly startMs: number;
  readonly workMs: number;
  leftMs: number;
}

/** Sums over the counted requests. */
interface Count {
  readonly latenciesMs: number[];
  queueMs: number;
  computeMs: number;
  readonly bySize: Map<number, { executions: number; ms: number }>;
}

const WARM_UP = 150;
const COUNTED = 1500;

/**
 * Simulates such a server under a closed loop, independently of `src/queueing`. A free instance
 * takes waiting requests, up to a whole batch, once the batch is full or its oldest request has
 * waited for the delay; no batch is formed ahead. Busy instances share the cores.
 */
export function serveOtherwise(discipline: Discipline, config: ServedWith, clients: number, random: Random): Truth {
  const { others, roundTripMs } = discipline;
  const waiting: Request[] = [];
  const sent: number[] = Array.from({ length: clients }, () => roundTripMs * random.float());
  let nextOtherMs = others.perSecond > 0 ? gap(others.perSecond, random) : Number.POSITIVE_INFINITY;
  const running = new Set<Execution>();
  const count: Count = { latenciesMs: [], queueMs: 0, computeMs: 0, bySize: new Map() };
  let nowMs = 0;
  let answered = 0;
  let countedFromMs = 0;
  let drift = 0;
  while (count.latenciesMs.length < COUNTED) {
    const pace = Math.min(1, discipline.cores / Math.max(1, running.size));
    const nextSent = Math.min(...sent, Number.POSITIVE_INFINITY);
    const nextEndMs = nowMs + Math.min(...[...running].map(({ leftMs }) => leftMs / pace), Number.POSITIVE_INFINITY);
    const soonestMs = Math.min(nextSent, nextOtherMs, nextEndMs, wakeMs());
    for (const execution of running) execution.leftMs -= (soonestMs - nowMs) * pace;
    nowMs = soonestMs;
    if (nowMs === nextSent) {
      sent.splice(sent.indexOf(nextSent), 1);
      waiting.push({ sentMs: nowMs, isOthers: false });
    } else if (nowMs === nextOtherMs) {
      waiting.push({ sentMs: nowMs, isOthers: true });
      nextOtherMs = nowMs + gap(others.perSecond, random);
    }
    for (const execution of running) if (execution.leftMs <= 1e-9) end(execution);
    while (running.size < config.instances && isReady()) start();
  }
  return toTruth(count, nowMs - countedFromMs);

  function isFull(): boolean {
    return waiting.length >= Math.max(1, config.maxBatchSize);
  }

  function isReady(): boolean {
    if (waiting.length === 0) return false;
    return config.delayMs === null || isFull() || nowMs >= oldestMs() + config.delayMs;
  }

  /** Returns when the oldest request's delay ends. */
  function wakeMs(): number {
    const { delayMs } = config;
    if (delayMs === null || waiting.length === 0 || running.size >= config.instances) return Number.POSITIVE_INFINITY;
    return Math.max(nowMs, oldestMs() + delayMs);
  }

  function oldestMs(): number {
    return Math.min(...waiting.map(({ sentMs }) => sentMs));
  }

  function start(): void {
    const most = config.delayMs === null ? 1 : Math.max(1, config.maxBatchSize);
    const requests = Array.from({ length: Math.min(most, waiting.length) }, takeNext);
    const { memory, spread, fixedMs, perSampleMs } = discipline;
    drift = memory * drift + Math.sqrt(1 - memory ** 2) * standardNormal(random);
    const workMs = (fixedMs + perSampleMs * requests.length) * Math.exp(spread * drift);
    running.add({ requests, startMs: nowMs, workMs, leftMs: workMs });
  }

  function takeNext(): Request {
    const urgent = others.isUrgent ? waiting.findIndex(({ isOthers }) => isOthers) : -1;
    const turn = discipline.order === 'at random' ? random.int(0, waiting.length - 1) : 0;
    return waiting.splice(urgent >= 0 ? urgent : turn, 1)[0] as Request;
  }

  function end(execution: Execution): void {
    running.delete(execution);
    const tookMs = nowMs - execution.startMs;
    const isCounted = answered >= WARM_UP;
    if (isCounted) {
      const row = count.bySize.get(execution.requests.length) ?? { executions: 0, ms: 0 };
      count.bySize.set(execution.requests.length, { executions: row.executions + 1, ms: row.ms + tookMs });
    }
    for (const { sentMs, isOthers } of execution.requests) {
      if (isOthers) continue;
      sent.push(nowMs + roundTripMs);
      answered += 1;
      if (answered === WARM_UP) countedFromMs = nowMs;
      if (!isCounted) continue;
      count.latenciesMs.push(nowMs - sentMs + roundTripMs);
      count.queueMs += execution.startMs - sentMs;
      count.computeMs += tookMs;
    }
  }
}

const gap = (perSecond: number, random: Random): number => (-Math.log(1 - random.float()) * MS_PER_S) / perSecond;

function toTruth({ latenciesMs, queueMs, computeMs, bySize }: Count, tookMs: number): Truth {
  const sorted = Float64Array.from(latenciesMs).sort();
  const at = (share: number): number => quantileSorted(sorted as unknown as number[], share);
  const requests = latenciesMs.length;
  return {
    throughput: (requests * MS_PER_S) / tookMs,
    latencyMs: {
      avg: latenciesMs.reduce((sum, each) => sum + each, 0) / requests,
      p50: at(0.5),
      p90: at(0.9),
      p95: at(0.95),
      p99: at(0.99),
    },
    queueUs: (1e3 * queueMs) / requests,
    computeUs: (1e3 * computeMs) / requests,
    batches: [...bySize]
      .sort(([a], [b]) => a - b)
      .map(([size, { executions, ms }]) => ({ size, executions, meanExecutionUs: (1e3 * ms) / executions })),
  };
}
