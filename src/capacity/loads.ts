import type { Measurement } from '#profiler/measurement.ts';
import type { PlayedArrivals } from './posterior/backlog.ts';

/** A measurement at a request rate. */
export interface RateMeasurement extends Measurement {
  /** The arrivals; absent if they are not random, or not those of single requests at a rate. */
  readonly arrivals?: PlayedArrivals;
}

/** One window of a played load, and what its requests saw. */
export interface CourseWindow {
  /** The end of the window, in seconds from the first due request. */
  readonly endSeconds: number;
  /** Requests answered per second. */
  readonly perSecond: number;
  readonly meanMs: number;
  /** The limited percentile of the window's own requests. */
  readonly percentileMs: number;
}

/** A load that was played to its end, whatever it did to the server. */
export interface PlayedLoad {
  readonly measurement: Measurement;
  readonly windows: readonly CourseWindow[];
}

/** A base rate, and its temporary rise. */
export interface BurstShape {
  readonly factor: number;
  readonly seconds: number;
}

/**
 * The length of a measurement: until its verdict is clear, or a fixed time, to count its share of
 * bad requests.
 */
export type ReadingLength = 'verdict' | 'counted';

/**
 * The loads that can be played on a server. Each ends with no request in flight, and at `untilNs`
 * of the run's clock at the latest, with the figures so far, of which there may be none; its last
 * requests may then take a few seconds longer. Errors: INTERRUPTED, SERVER_*.
 */
export interface CapacityLoads {
  /**
   * A roughly measured closed loop; or the rate to begin at, for a workload, which has no closed
   * loop and is measured in whole passes.
   */
  readonly scouting:
    | {
        readonly kind: 'closed-loops';
        readonly measure: (concurrency: number, untilNs?: number) => Promise<Measurement>;
      }
    | { readonly kind: 'rate'; readonly perSecond: number; readonly passSeconds: number };
  /** Measures at a request rate for the given length. */
  atRate(perSecond: number, length: ReadingLength, untilNs?: number): Promise<RateMeasurement>;
  /** Measures at a request rate until its figures are precise, whatever the verdict. */
  atLength(perSecond: number, untilNs?: number): Promise<RateMeasurement>;
  /** Plays a request rate for a fixed time; a workload in whole passes. */
  forSeconds(perSecond: number, seconds: number, untilNs?: number): Promise<PlayedLoad>;
  /** Plays a burst on a base rate, then `afterSeconds` of the base rate. */
  burst(perSecond: number, shape: BurstShape, afterSeconds: number): Promise<PlayedLoad>;
}
