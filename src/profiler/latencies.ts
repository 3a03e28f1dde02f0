/** Latency over all requests of the counted windows, in milliseconds. */
export interface LatencySummary {
  readonly avg: number;
  readonly p50: number;
  readonly p90: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
  readonly min: number;
  /** Standard deviation of the sample; 0 for fewer than two requests. */
  readonly std: number;
}
