import type { LoadLevel } from '#loadgen/types.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { FitQuality } from '#queueing/calibration/fit-quality.ts';
import type { RequestLimits } from '#queueing/continuous/request-limits.ts';
import type { Candidate } from '#space/types.ts';
import type { StudyWorkloads } from '#workload/study-workloads.ts';
import { atClientBatch, type Choice, toChoice } from './modelled-config.ts';
import type { WithoutParts } from './parts.ts';
import type { Place } from './places.ts';
import type { PlainFigureName, Simulated } from './simulated.ts';

/** A choice with its measurements. */
export interface MeasuredChoice {
  readonly choice: Choice;
  readonly measurements: readonly Measurement[];
}

/** Returns the measurements of a candidate by its choices, one for each of their client batches. */
export const measuredChoices = (candidate: Candidate, measurements: readonly Measurement[]): MeasuredChoice[] =>
  [...Map.groupBy(measurements, ({ level }) => level.batch)].map(([batch, ofBatch]) => ({
    choice: atClientBatch(toChoice(candidate), batch),
    measurements: ofBatch,
  }));

/**
 * What configs would do under load, by a law that was fitted to measurements: Triton's dynamic
 * batcher (`batcher-model.ts`), a network of models (`network/network-model.ts`), or an engine with
 * continuous batching (`continuous/engine-model.ts`).
 */
export interface ServiceModel {
  /** Returns null if the choice cannot serve such requests. */
  predict(choice: Choice, level: number): Simulated | null;
  /** True if `predict` gives the figure. */
  gives(figure: PlainFigureName): boolean;
  /**
   * The standard deviation of the execution times' logarithm at that level; if `front` is given,
   * only of executions that its requests wait for.
   */
  uncertainty(choice: Choice, level: number, front?: string | null): number;
  /**
   * An upper bound on throughput in samples per second, at one standard deviation of execution
   * times: every request in flight is served at once by a lone instance. Infinity for a request
   * rate.
   */
  mostThroughput(choice: Choice, level: number): number;
  /**
   * A rough upper bound on throughput at any level, in samples per nanosecond: all instances busy,
   * execution times one standard deviation below their mean, and the best batch size at which a
   * request takes at most `limitNs`. For ranking choices before they are simulated.
   */
  bound(choice: Choice, limits: BoundLimits): number;
  /** Returns the place of a choice at a level among the residuals, by its config. */
  place(choice: Choice, level: number, longestDelayUs: number): Place;
  /** Returns the same by the use that the simulation shows; absent if configs tell it. */
  placeInUse?(choice: Choice, level: number, longestDelayUs: number): Place;
  /** Returns what no measurement had that the model was fitted to. */
  extrapolates(choice: Choice, level: number): readonly Extrapolation[];
  /** Judges the fit by what it was fitted to; null without any of that. */
  quality(): FitQuality | null;
  /**
   * Returns the bottleneck, and the effect of one more instance; null if the choice cannot serve
   * such requests. Absent for a single model.
   */
  bottleneck?(choice: Choice, level: number): StageBottleneck | null;
}

/**
 * A property that no measurement behind a prediction had: as many instances, batches as large, or
 * (`variant`, the word of summary.json) the same other settings.
 */
export type Extrapolation = 'instances' | 'batch size' | 'variant';

/** The limits of a study that bounds respect. */
export interface BoundLimits {
  readonly limitNs: number;
  /**
   * The largest request of the study, in samples, and the most of them in flight; null if all
   * requests have the same size.
   */
  readonly requests: { readonly largest: number; readonly inFlight: number } | null;
}

/** The bottleneck of a network. */
export interface StageBottleneck {
  /** The stage that gains most from one more instance. */
  readonly stage: string;
  /** Utilisation of its instances, 0 to 1. */
  readonly utilization: number;
  /**
   * Ratio of the mean latency now to that with one more instance, at the same level; in a closed
   * loop also the ratio of throughputs.
   */
  readonly gain: number;
  /** The device that is used up, if no instance helps. */
  readonly device?: string;
}

/** Options of a service model. */
export interface ServiceModelOptions {
  readonly mode: LoadLevel['mode'];
  /** The percentile of `latency`. */
  readonly percentile: number;
  readonly seed: number;
  /** Every choice to predict later. */
  readonly all: readonly Choice[];
  /**
   * The limits of a good request; absent: no goodput is simulated, except for an engine, where
   * every request is good.
   */
  readonly limits?: RequestLimits | undefined;
  /** Requests of one simulation; fewer make the tail less certain. */
  readonly requests?: number | undefined;
  readonly without?: WithoutParts | undefined;
  /** The arrivals at a level, if not evenly spaced. */
  readonly workloads?: StudyWorkloads | undefined;
  /**
   * Prior execution time of a candidate relative to others; with `model`, that of one of several
   * models. Default 1.
   */
  readonly expectedTime?: ((candidate: Candidate, model?: string) => number) | undefined;
}
