import type { LoadLevel } from '#loadgen/types.ts';
import { type ClientPartsUs, computeClientParts } from './client/client-parts.ts';
import type { Measurement } from './measurement.ts';

/** The figures of one load level, as perf_analyzer reports them. Times are in microseconds. */
export interface LevelReport {
  readonly level: LoadLevel;
  /** Samples per second: request rate × client batch. */
  readonly inferPerSecond: number;
  readonly requestCount: number;
  /**
   * Requests sent per second, and the share in per cent of those sent late; null in a closed loop.
   */
  readonly sends: { readonly perSecond: number; readonly latePercent: number } | null;
  /** null for models without sequences. */
  readonly sequences: { readonly count: number; readonly perSecond: number } | null;
  /** null for models that answer each request once. */
  readonly responsesPerSecond: number | null;
  readonly averageUs: number;
  readonly deviationUs: number;
  /** Ascending. */
  readonly percentilesUs: readonly { readonly percentile: number; readonly us: number }[];
  /** The latency that the stability rule and the latency limit use. */
  readonly decidingUs: number;
  readonly isStable: boolean;
  readonly isWithinLimit: boolean;
  /** null when the server gave no statistics. */
  readonly server: ServerReport | null;
  readonly measurement: Measurement;
}

/** The server's statistics of one model over the same time. Times are per request. */
export interface ServerReport {
  /** Empty for the model that was measured. */
  readonly model: string;
  readonly version: string;
  readonly inferenceCount: number;
  readonly executionCount: number;
  readonly successCount: number;
  /** null if no request was looked up in a response cache. */
  readonly cache: CacheReport | null;
  readonly requestUs: number;
  readonly overheadUs: number;
  readonly queueUs: number;
  readonly computeInputUs: number;
  readonly computeInferUs: number;
  readonly computeOutputUs: number;
  /** Models that this one consists of or calls. */
  readonly composing: readonly ServerReport[];
}

export interface CacheReport {
  readonly hitCount: number;
  readonly missCount: number;
  /** Means over all requests, over hits and over misses. */
  readonly hitUsPerRequest: number;
  readonly missUsPerRequest: number;
  readonly hitUs: number;
  readonly missUs: number;
}

const NONE: ClientPartsUs = { sendUs: 0, receiveUs: 0 };

/** Returns the client's own parts as perf_analyzer's tables show them: 0 if unknown. */
export const shownClientParts = ({ measurement }: LevelReport): ClientPartsUs =>
  computeClientParts(measurement) ?? NONE;

/**
 * Returns the latency that neither the client's own parts nor the server's queue, compute and cache
 * times explain, as perf_analyzer counts it.
 */
export function networkUs(report: LevelReport): number {
  const { averageUs, server } = report;
  if (server === null) return 0;
  const { sendUs, receiveUs } = shownClientParts(report);
  const computeUs = server.computeInputUs + server.computeInferUs + server.computeOutputUs;
  const cacheUs = server.cache ? server.cache.hitUsPerRequest + server.cache.missUsPerRequest : 0;
  return Math.max(0, averageUs - sendUs - receiveUs - server.queueUs - computeUs - cacheUs);
}
