import type { Measurement } from '#profiler/measurement.ts';
import type { BisectEnding } from './bisect.ts';
import type { PlayedLoad, RateMeasurement } from './loads.ts';
import type { CapacityPosterior } from './posterior/posterior.ts';
import type { CapacityPrior } from './posterior/prior.ts';
import { type CapacityLimit, type RateReading, toReading } from './reading.ts';
import type { Scouted } from './scout.ts';

/** A load that was played at a rate. */
export interface PlayedRate extends PlayedLoad {
  readonly perSecond: number;
}

/** A load beyond the capacity, as a multiple of it. */
export interface CliffPlay extends PlayedRate {
  readonly factor: number;
  readonly seconds: number;
}

/** A played burst, and its reading of the highest base rate. */
export interface BurstPlay extends PlayedRate {
  readonly reading: RateReading;
}

/** Why there is only a lower bound: the load generator was the limit. */
export interface ClientBound {
  readonly perSecond: number;
  readonly reason: string;
}

/** A part of a run for which there was too little time. */
export type CapacityPart = 'search' | 'answer' | 'beyond' | 'burst';

/** Everything measured so far, also in an interrupted run. */
export interface CapacityState {
  readonly closed: Measurement[];
  scouted: Scouted | null;
  prior: CapacityPrior | null;
  /** Probes in chronological order; the last ones are at the answer's rate. */
  readonly probes: RateMeasurement[];
  ending: BisectEnding | 'client' | null;
  clientLimit: ClientBound | null;
  /**
   * The highest rate that met the limit although the load generator delayed requests; null for
   * none.
   */
  metDespiteClient: number | null;
  posterior: CapacityPosterior | null;
  /** The complete measurement at the lower end of the interval. */
  answer: RateMeasurement | null;
  readonly cliff: CliffPlay[];
  readonly bursts: BurstPlay[];
  burst: CapacityPosterior | null;
  /** The parts that were cut short or left out because the time was up. */
  readonly cutShort: Set<CapacityPart>;
}

/** Returns the state of a run without any measurements. */
export const freshState = (): CapacityState => ({
  closed: [],
  scouted: null,
  prior: null,
  probes: [],
  ending: null,
  clientLimit: null,
  metDespiteClient: null,
  posterior: null,
  answer: null,
  cliff: [],
  bursts: [],
  burst: null,
  cutShort: new Set(),
});

/**
 * Returns the usual time of the host's fixed piece of work: the median over all measurements; null
 * if unknown.
 */
export function usualHostWorkUs({ closed, probes }: Pick<CapacityState, 'closed' | 'probes'>): number | null {
  const known = [...closed, ...probes].flatMap(({ hostWorkUs }) => hostWorkUs ?? []).sort((a, b) => a - b);
  return known[(known.length - 1) >> 1] ?? null;
}

/** Returns the readings of the probes, all based on the usual speed known now. */
export function listReadings(
  state: CapacityState,
  { limit, batch }: { readonly limit: CapacityLimit; readonly batch: number },
): readonly RateReading[] {
  const context = { limit, batch, usualHostWorkUs: usualHostWorkUs(state) };
  return state.probes.map((probe) => toReading(probe, context));
}
