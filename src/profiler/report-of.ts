import { MS_PER_S } from '#base/units.ts';
import type { CacheReport, LevelReport, ServerReport } from './level-report.ts';
import type { Measurement } from './measurement.ts';
import type { ServerBreakdown } from './server-figures.ts';

const US_PER_MS = 1e3;

/** Options of the report. */
export interface ReportAsked {
  /** Ascending. */
  readonly percentiles: readonly number[];
  /** The percentile that decides; null for the average. */
  readonly percentile: number | null;
  /** 0 for none. */
  readonly latencyLimitMs: number;
  /** True if the model gives any number of responses to a request. */
  readonly isDecoupled: boolean;
}

/** Returns the measurement in the form that perf_analyzer's tables and screens use. */
export function toReport(
  measurement: Measurement,
  { percentiles, percentile, latencyLimitMs, isDecoupled }: ReportAsked,
): LevelReport {
  const { latencyMs, budgetLatencyMs, openLoop, level, requests, sequences } = measurement;
  const decidingMs = percentile === null ? (openLoop?.scheduledLatencyMs ?? latencyMs).avg : budgetLatencyMs.value;
  return {
    level,
    inferPerSecond: measurement.throughput.value,
    requestCount: requests,
    sends: openLoop ? { perSecond: measurement.sendRate, latePercent: computeLatePercent(measurement) } : null,
    sequences: sequences === undefined ? null : { count: sequences, perSecond: perSecond(sequences, measurement) },
    responsesPerSecond: isDecoupled ? perSecond(measurement.responses ?? 0, measurement) : null,
    averageUs: latencyMs.avg * US_PER_MS,
    deviationUs: latencyMs.std * US_PER_MS,
    percentilesUs: percentiles.map((percentile) => ({
      percentile,
      us: (measurement.latencyPercentilesMs?.[`${percentile}`] ?? 0) * US_PER_MS,
    })),
    decidingUs: decidingMs * US_PER_MS,
    isStable: measurement.stable,
    isWithinLimit: latencyLimitMs === 0 || decidingMs < latencyLimitMs,
    server: measurement.server && serverReport(measurement.server, measurement.composing ?? []),
    measurement,
  };
}

/** The share of the sends that were late. Requests still in flight at the end were sent, too. */
function computeLatePercent({ openLoop, requests, sendRate, durationMs }: Measurement): number {
  const sent = Math.max(requests, Math.round((sendRate * durationMs) / MS_PER_S));
  return sent === 0 ? 0 : Math.min(100, ((openLoop?.lateSends ?? 0) / sent) * 100);
}

const perSecond = (count: number, { durationMs }: Measurement): number =>
  durationMs > 0 ? (count / durationMs) * MS_PER_S : 0;

type Named = NonNullable<Measurement['composing']>[number];

function serverReport(server: ServerBreakdown | Named, composing: readonly Named[]): ServerReport {
  return {
    model: '',
    version: '',
    ...server,
    cache: cacheReport(server),
    composing: composing.map((inner) => serverReport(inner, [])),
  };
}

function cacheReport({ cache, successCount }: ServerBreakdown): CacheReport | null {
  if (cache.hitCount + cache.missCount === 0) return null;
  const share = (count: number): number => count / Math.max(successCount, 1);
  return {
    ...cache,
    hitUsPerRequest: cache.hitUs * share(cache.hitCount),
    missUsPerRequest: cache.missUs * share(cache.missCount),
  };
}
