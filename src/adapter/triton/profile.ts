import { lookUp } from '../../base/look-up.ts';
import type { LoadLevel } from '../../loadgen/types.ts';
import type { LevelOptions, WindowRule } from '../../profiler/level-options.ts';
import { measureLevel } from '../../profiler/measure-level.ts';
import { measureMix } from '../../profiler/measure-mix.ts';
import type { Measurement } from '../../profiler/measurement.ts';
import { measureWorkloads } from '../../profiler/workloads/measure-workloads.ts';
import { frontLevels, type Topology } from '../../space/topology.ts';
import type { Applied, MeasureOptions, MeasurePurpose, Profile } from '../../tuner/adapter.ts';
import { type FrontTraffic, optionsFor } from './front-options.ts';
import { type ProfiledWorkload, type ProfiledWorkloads, partOfLevel } from './workload-traffic.ts';

/**
 * A trial is measured at several levels, its neighbours provide evidence too, and the final measures the best again, so four windows per level are
 * enough.
 */
export const studyWindows = { maxWindows: 4, maxVoidWindows: 2 } satisfies Partial<WindowRule>;
/**
 * The search asks which candidate is much better; only the final's figures are reported. A longer look hardly evens out a bad second of the
 * machine.
 */
export const searchWindows = { minWindowMs: 150, maxWindows: 3, maxVoidWindows: 1 } satisfies Partial<WindowRule>;
/**
 * With a few requests in flight, to see how the percentile varies between windows: three windows of up to 350 ms, which take at most a second. For
 * a slow model they hold few requests, and the spread is wider.
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

/** The options that all measurements share, and the requests to send to a candidate. */
export interface ProfileOptions
  extends FrontTraffic,
    Omit<LevelOptions, keyof FrontTraffic | keyof ReturnType<typeof optionsFor> | PerMeasurement> {
  /** The models that are tuned together; absent for a single model. */
  readonly topology?: Topology | undefined;
  /** Traffic of each front except the first, in order. */
  readonly otherFronts?: readonly FrontTraffic[];
  /** Workloads that replace even rates; absent: even rates. */
  readonly workloads?: ProfiledWorkloads | undefined;
  /** Window rules for measurements of these purposes, merged over `windows`. Default: none is shorter. */
  readonly shorterWindows?: Readonly<Record<MeasurePurpose, Partial<WindowRule>>>;
}

type PerMeasurement = 'level' | 'isFresh' | 'signal' | 'onProgress' | 'untilNs';

/**
 * Profiles the served models over the transport of the options: one model or pipeline, or several at the same time, each at its part of the level;
 * under each workload in turn if there are workloads. After a change, wakes all instances first, and starts counting once the server has settled
 * (`warmUp`).
 */
export function createProfile({
  requestsFor,
  topology,
  otherFronts,
  shorterWindows,
  workloads,
  ...fixed
}: ProfileOptions): Profile {
  const traffics: readonly FrontTraffic[] = [{ ...fixed, requestsFor }, ...(otherFronts ?? [])];
  const measureOne = (
    { candidate }: Applied,
    level: LoadLevel,
    isFresh: boolean,
    { signal, onProgress, budgetMs, budgetsMs = {}, purpose, untilNs }: MeasureOptions,
    workload: ProfiledWorkload | null,
  ): Promise<Measurement> => {
    const now = {
      ...(budgetMs !== undefined && { budgetMs }),
      ...(purpose && shorterWindows && { windows: { ...fixed.windows, ...shorterWindows[purpose] } }),
      ...{ level, signal, onProgress, isFresh, untilNs },
    };
    const fronts = traffics.map(({ requestsFor: usual, ...traffic }, index) => {
      const front = topology?.fronts[index];
      const under = workload?.fronts[index];
      const own = optionsFor(
        candidate,
        (under?.requestsFor ?? usual)(candidate, level.batch),
        front && topology ? { front, topology } : null,
      );
      const part = workload && under ? partOfLevel(workload, under, level) : null;
      const limits = under?.limits && { limits: under.limits };
      return { ...fixed, ...traffic, ...own, ...now, ...limits, ...part };
    });
    const [only, ...others] = fronts as [LevelOptions, ...LevelOptions[]];
    if (!topology || others.length === 0) return measureLevel(only);
    const levels = frontLevels(topology, level);
    const mixed = topology.fronts.map(({ model }, index) => ({
      ...(fronts[index] as LevelOptions),
      ...(!workload && { level: levels[index] as LoadLevel }),
      ...budgetOf(lookUp(budgetsMs, model)),
    }));
    return measureMix({ ...fixed, ...now }, mixed);
  };
  let settled: Applied | null = null;
  return {
    measure: (applied, level, options) => {
      const isServed = applied.change === 'none' && settled?.candidate.fingerprint === applied.candidate.fingerprint;
      const isFresh = applied !== settled && !isServed;
      settled = applied;
      if (!workloads) return measureOne(applied, level, isFresh, options, null);
      const played = options.purpose === undefined ? workloads.final : workloads.search;
      return measureWorkloads(workloads.rule, level, played, (place, own) => {
        const workload = played[place] as ProfiledWorkload;
        const onProgress: MeasureOptions['onProgress'] = (progress) =>
          options.onProgress(played.length > 1 ? { ...progress, workload: workload.name } : progress);
        return measureOne(applied, own, isFresh && place === 0, { ...options, onProgress }, workload);
      });
    },
  };
}

const budgetOf = (budgetMs: number | undefined): { readonly budgetMs?: number } =>
  budgetMs === undefined ? {} : { budgetMs };
