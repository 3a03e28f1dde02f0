import { lookUp } from '#base/look-up.ts';
import type { LoadLevel } from '#loadgen/types.ts';
import type { LevelOptions, WindowRule } from '#profiler/level-options.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { type PlayedFront, type PlayOptions, play } from '#profiler/play.ts';
import { frontLevels, type Topology } from '#space/topology.ts';
import type { Applied, MeasureOptions, MeasurePurpose, Profile } from '#tuner/adapter.ts';
import { measureUnder, type ProfiledWorkload, type ProfiledWorkloads, playing } from '../workloads.ts';
import { type FrontTraffic, optionsFor } from './front-options.ts';

/**
 * A trial is measured at several levels, its neighbours provide evidence too, and the final
 * measures the best again, so four windows per level are enough.
 */
export const studyWindows = { maxWindows: 4, maxVoidWindows: 2 } satisfies Partial<WindowRule>;
/**
 * The search asks which candidate is much better; only the final's figures are reported. A longer
 * look hardly evens out a bad second of the machine.
 */
export const searchWindows = { minWindowMs: 150, maxWindows: 3, maxVoidWindows: 1 } satisfies Partial<WindowRule>;
/**
 * With a few requests in flight, to see how the percentile varies between windows: three windows of
 * up to 350 ms, which take at most a second. For a slow model they hold few requests, and the
 * spread is wider.
 */
export const restWindows = {
  minWindowMs: 150,
  maxWindowMs: 350,
  maxWindows: 3,
  maxVoidWindows: 1,
} satisfies Partial<WindowRule>;
/** Window rules that are shorter than those of reported figures. */
export const shorterWindows: Readonly<Record<MeasurePurpose, Partial<WindowRule>>> = {
  search: searchWindows,
  rest: restWindows,
};

/** A workload, and what each front sends under it, in the order of the study's fronts. */
export interface TensorWorkload extends ProfiledWorkload {
  readonly fronts: readonly Pick<PlayedTensors, 'requestsFor' | 'classes'>[];
}

type PlayedTensors = FrontTraffic & Required<Pick<PlayedFront, 'classes'>>;

/** The options that all measurements share, and the requests to send to a candidate. */
export interface TensorProfileOptions
  extends FrontTraffic,
    Pick<LevelOptions, 'stats'>,
    Omit<PlayOptions, keyof FrontTraffic | keyof ReturnType<typeof optionsFor> | PerMeasurement> {
  /** The models that are tuned together; absent for a single model. */
  readonly topology?: Topology | undefined;
  /** Traffic of each front except the first, in order. */
  readonly otherFronts?: readonly FrontTraffic[];
  /** Workloads that replace even rates; absent: even rates. */
  readonly workloads?: ProfiledWorkloads<TensorWorkload> | undefined;
  /**
   * Window rules for measurements of these purposes, merged over `windows`. Default: none is
   * shorter.
   */
  readonly shorterWindows?: Readonly<Record<MeasurePurpose, Partial<WindowRule>>>;
}

type PerMeasurement = 'level' | 'isFresh' | 'signal' | 'onProgress' | 'untilNs';

/**
 * Profiles the served models over the transport of the options: one model or pipeline, or several
 * at the same time, each at its part of the level; under each workload in turn if there are
 * workloads. After a change, wakes all instances first, and starts counting once the server has
 * settled (`warmUp`).
 */
export function createProfile({
  requestsFor,
  scheduleAt,
  topology,
  otherFronts = [],
  shorterWindows,
  workloads,
  stats,
  ...fixed
}: TensorProfileOptions): Profile {
  const traffics: readonly FrontTraffic[] = [{ ...fixed, requestsFor, scheduleAt }, ...otherFronts];
  const measure = (
    { candidate }: Applied,
    level: LoadLevel,
    isFresh: boolean,
    { signal, onProgress, budgetMs, budgetsMs = {}, purpose, untilNs }: MeasureOptions,
    workload: TensorWorkload | null,
  ): Promise<Measurement> => {
    const fronts = traffics.map(({ requestsFor: usual, scheduleAt: usualSchedule, ...traffic }, index): PlayedFront => {
      const front = topology?.fronts[index];
      const under = workload?.fronts[index];
      const requests = (under?.requestsFor ?? usual)(candidate, level.batch);
      const frontBudgetMs = front && traffics.length > 1 ? lookUp(budgetsMs, front.model) : undefined;
      return {
        ...traffic,
        ...optionsFor(candidate, requests, front && topology ? { front, topology } : null),
        stats,
        ...(under ? { classes: under.classes } : { scheduleAt: usualSchedule }),
        ...(topology && !under && { levelIn: (whole) => frontLevels(topology, whole)[index] as LoadLevel }),
        ...(frontBudgetMs !== undefined && { budgetMs: frontBudgetMs }),
      };
    });
    return play(
      {
        ...fixed,
        ...(budgetMs !== undefined && { budgetMs }),
        ...(purpose && shorterWindows && { windows: { ...fixed.windows, ...shorterWindows[purpose] } }),
        ...(workload && playing(workload)),
        level,
        signal,
        onProgress,
        isFresh,
        untilNs,
      },
      fronts,
    );
  };
  let settled: Applied | null = null;
  return {
    measure: (applied, level, options) => {
      const isServed = applied.change === 'none' && settled?.candidate.fingerprint === applied.candidate.fingerprint;
      const isFresh = applied !== settled && !isServed;
      settled = applied;
      return measureUnder(workloads, level, isFresh, options, (workload, turn, isTurnFresh, turnOptions) =>
        measure(applied, turn, isTurnFresh, turnOptions, workload),
      );
    },
  };
}
