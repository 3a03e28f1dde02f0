import type { Distribution } from '#base/distribution.ts';
import type { WorkloadFile } from './workload-schema.ts';

/**
 * Limits of a good request of a class, in nanoseconds. `e2eNs` is from its due time to the end of
 * the reply.
 */
export interface ClassLimits {
  readonly ttftNs?: number;
  readonly itlNs?: number;
  readonly tpotNs?: number;
  readonly e2eNs?: number;
}

type ClassFile = NonNullable<WorkloadFile['classes']>[string];

/** A kind of request. */
export interface WorkloadClass extends Pick<ClassFile, 'model' | 'endpoint' | 'requests' | 'prompts'> {
  readonly name: string;
  /** Relative to the other weights; 0 or more. */
  readonly weight: number;
  readonly limits: ClassLimits;
}

/**
 * Arrivals at a rate. `cv` is the coefficient of variation of the gaps, after removing changes of
 * the rate.
 */
export type RateArrivals = { readonly cv: number } & (
  | { readonly process: 'constant' | 'poisson' | 'gamma'; readonly perSecond: number }
  | { readonly process: 'ramp'; readonly fromPerSecond: number; readonly toPerSecond: number }
  | {
      readonly process: 'diurnal';
      /** Mean over a period. */
      readonly perSecond: number;
      /** The highest rate over the lowest. */
      readonly peakRatio: number;
      readonly periodS: number;
      readonly peakAtS: number;
    }
);

export interface TraceArrivals {
  readonly process: 'trace';
  /** From the start of the phase, in rising order, each below its duration. */
  readonly timesNs: Float64Array;
  /**
   * The class of each arrival, as an index of the workload's classes; null if weights determine it.
   */
  readonly classOf: Uint16Array | null;
  /** The resolution of the recording clock: arrivals are spread over one step. 0 for none. */
  readonly resolutionNs: number;
}

/**
 * Weights of the classes, in order, at the start and at the end of a phase; they change linearly in
 * between.
 */
export interface Mix {
  readonly from: readonly number[];
  readonly to: readonly number[];
}

export interface Phase {
  readonly name: string | null;
  readonly durationS: number;
  readonly arrivals: RateArrivals | TraceArrivals;
  readonly mix: Mix;
}

export interface Sessions {
  /** Requests of a session; whole numbers of 1 or more. */
  readonly turns: Distribution;
  readonly thinkTimeMs: Distribution;
}

/** Which requests arrive when: a checked workload file with its traces. */
export interface Workload {
  readonly name: string;
  /** At least one. */
  readonly classes: readonly WorkloadClass[];
  /** Phases in sequence; at least one. */
  readonly phases: readonly Phase[];
  readonly sessions: Sessions | null;
}

/** Returns the seconds of one pass. */
export const findDuration = ({ phases }: Pick<Workload, 'phases'>): number =>
  phases.reduce((sum, { durationS }) => sum + durationS, 0);
