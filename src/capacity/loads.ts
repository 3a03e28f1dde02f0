import type { Measurement } from '../profiler/measurement.ts';

/** A moment of a load that was played: what its requests saw meanwhile. */
export interface CourseWindow {
  /** Its end, in seconds from the first request that was due. */
  readonly endSeconds: number;
  /** Requests answered per second. */
  readonly perSecond: number;
  readonly meanMs: number;
  /** The limited percentile of its requests alone. */
  readonly percentileMs: number;
}

/** A load that was played to its end, whatever it did to the server. */
export interface PlayedLoad {
  readonly measurement: Measurement;
  readonly windows: readonly CourseWindow[];
}

/** A base rate, and how it rises for a while. */
export interface BurstShape {
  readonly factor: number;
  readonly seconds: number;
}

/** How long a rate is measured: until its verdict is clear, or a fixed time, for its share of bad requests. */
export type ReadingLength = 'verdict' | 'counted';

/** What can be asked of a server: each ends with nothing of it in flight. Errors: INTERRUPTED, SERVER_*. */
export interface CapacityLoads {
  /** A closed loop, measured roughly; or the rate to begin at, where requests come by a workload and have no closed loop. */
  readonly scouting:
    | { readonly kind: 'closed-loops'; readonly measure: (concurrency: number) => Promise<Measurement> }
    | { readonly kind: 'rate'; readonly perSecond: number };
  /** A request rate for so long. */
  atRate(perSecond: number, length: ReadingLength): Promise<Measurement>;
  /** A request rate until its figures are precise, whatever the verdict. */
  atLength(perSecond: number): Promise<Measurement>;
  /** A request rate for a fixed time. */
  forSeconds(perSecond: number, seconds: number): Promise<PlayedLoad>;
  /** A base rate with a burst at its beginning, and `afterSeconds` of the base rate after it. */
  burst(perSecond: number, shape: BurstShape, afterSeconds: number): Promise<PlayedLoad>;
}
