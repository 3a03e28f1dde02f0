/** When the requests of a workload are due, and of which class each is. Made once for each rate; played over and over. */
export interface ArrivalPlan {
  /** Nanoseconds from the start, in rising order. */
  readonly arrivalsNs: Float64Array;
  /** The class of each request, as an index of `classes`. */
  readonly classOf: Uint16Array;
  /** The names of the request classes; at least one. */
  readonly classes: readonly string[];
  /** The length of one pass; the next pass begins then. */
  readonly durationNs: number;
}
