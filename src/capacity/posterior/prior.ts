/** What is known about the capacity before any measurement. */
export interface CapacityPrior {
  /** Requests per second that are certainly below and above the capacity. */
  readonly low: number;
  readonly high: number;
  /** The share of requests that may be bad. */
  readonly allowed: number;
  /** The latency budget; null for limits of another kind. */
  readonly budgetSeconds: number | null;
  /** A first guess, which may be far off; null for none. */
  readonly likely: number | null;
  /**
   * The scale of the guess, as a logarithm: half of all capacities are within about this distance.
   * A quarter if absent.
   */
  readonly guessScale?: number;
  /** The highest throughput seen, which no capacity can exceed by much; null if none was seen. */
  readonly mostServed: number | null;
  /** True for a workload that is played whole: phases and classes. */
  readonly isWorkload: boolean;
  /** The approximate percentile of an idle server, divided by the budget; null if unknown. */
  readonly idle: number | null;
  /**
   * True if the server computes on this host's CPU and so follows the host's speed. The host's
   * speed says nothing about any other server.
   */
  readonly followsHost: boolean;
}
