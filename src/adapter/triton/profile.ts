import type { RequestSet } from '../../loadgen/types.ts';
import type { LevelOptions, WindowRule } from '../../profiler/level-options.ts';
import { measureLevel } from '../../profiler/measure-level.ts';
import type { Candidate } from '../../space/types.ts';
import type { Applied, MeasurePurpose, Profile } from '../../tuner/adapter.ts';

/** A trial is measured at several levels, its neighbours tell of it too, and the final measures the best again: four windows a level are enough. */
export const studyWindows = { maxWindows: 4, maxVoidWindows: 2 } satisfies Partial<WindowRule>;
/** The search asks which candidate is better by much; what is reported is the final's. What a machine does in a bad second, a longer look hardly evens out. */
export const searchWindows = { minWindowMs: 150, maxWindows: 3, maxVoidWindows: 1 } satisfies Partial<WindowRule>;
/**
 * With a few requests in flight, for the spread of the percentile from one window to the next: three of up to 350 ms, which take a second at
 * most. Of a slow model they hold few requests, and the spread is the wider.
 */
export const restWindows = {
  minWindowMs: 150,
  maxWindowMs: 350,
  maxWindows: 3,
  maxVoidWindows: 1,
} satisfies Partial<WindowRule>;
/** What is shorter than what is reported. */
export const shorterWindows: Readonly<Record<MeasurePurpose, Partial<WindowRule>>> = {
  search: searchWindows,
  rest: restWindows,
};

/** What stays the same from one measurement to the next, and the requests to send to a candidate. */
export interface ProfileOptions
  extends Omit<
    LevelOptions,
    'requests' | 'level' | 'instances' | 'isFresh' | 'requestsPerExecution' | 'signal' | 'onProgress'
  > {
  /** `batch`: samples in one request, where the study varies them. */
  readonly requestsFor: (candidate: Candidate, batch?: number) => RequestSet;
  /** Of measurements for these purposes, over `windows`; none is shorter when not given. */
  readonly shorterWindows?: Readonly<Record<MeasurePurpose, Partial<WindowRule>>>;
}

/**
 * Profiles what is served over the transport of the options. After a change all instances are woken first, and counting begins when the
 * server has settled (`warmUp`).
 */
export function createProfile({ requestsFor, shorterWindows, ...fixed }: ProfileOptions): Profile {
  let settled: Applied | null = null;
  return {
    measure: (applied, level, { signal, onProgress, budgetMs, purpose }) => {
      const isServed = applied.change === 'none' && settled?.candidate.fingerprint === applied.candidate.fingerprint;
      const isFresh = applied !== settled && !isServed;
      settled = applied;
      const requests = requestsFor(applied.candidate, level.batch);
      return measureLevel({
        ...fixed,
        ...(budgetMs !== undefined && { budgetMs }),
        ...(purpose && shorterWindows && { windows: { ...fixed.windows, ...shorterWindows[purpose] } }),
        requests,
        instances: applied.candidate.shape.policy.instances,
        isFresh,
        requestsPerExecution: requestsPerExecution(applied.candidate, requests.batch),
        level,
        signal,
        onProgress,
      });
    },
  };
}

/** Without dynamic batching an execution takes one request. */
function requestsPerExecution({ shape: { policy } }: Candidate, batch: number): number {
  return policy.dynamicBatching ? Math.max(1, Math.floor(policy.maxBatchSize / batch)) : 1;
}
