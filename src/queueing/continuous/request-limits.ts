/** What each request must keep to count as good, in nanoseconds; a limit that is absent is none. `itlNs`: no gap of it is longer. */
export interface RequestLimits {
  readonly ttftNs?: number;
  readonly itlNs?: number;
  readonly tpotNs?: number;
  readonly e2eNs?: number;
}
