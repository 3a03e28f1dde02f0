/** The due time and class of each request of a workload. Made once per rate and repeated. */
export interface ArrivalPlan {
  /** Nanoseconds from the start, in rising order. */
  readonly arrivalsNs: Float64Array;
  /** The class of each request, as an index of `classes`. */
  readonly classOf: Uint16Array;
  /** The names of the request classes; at least one. */
  readonly classes: readonly string[];
  /** The length of one pass, after which the next one begins. */
  readonly durationNs: number;
}
