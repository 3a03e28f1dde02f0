import type { RequestSet } from '../loadgen/types.ts';
import type { LevelOptions } from '../profiler/level-options.ts';
import { measureLevel } from '../profiler/measure-level.ts';
import type { Candidate } from '../space/types.ts';
import { instancesOf } from '../study/metrics.ts';
import type { Applied, Profile } from './seams.ts';

/** What stays the same from one measurement to the next, and the requests to send to a candidate. */
export interface ProfileOptions
  extends Omit<
    LevelOptions,
    'requests' | 'level' | 'instances' | 'isFresh' | 'requestsPerExecution' | 'settleMs' | 'signal' | 'onProgress'
  > {
  readonly requestsFor: (candidate: Candidate) => RequestSet;
}

/** However long a load took, the old copy of the model is gone after so long. */
const MAX_SETTLE_MS = 3000;

/**
 * Profiles what is served over the transport of the options. After a change the first warm-up takes as long as the load
 * did: a server that answers a load call still ends the instances of the copy before, and that takes about as long
 * (1 to 3.5 s for three Python instances on Triton 2.51, against 1.4 s of loading) and disturbs what is measured beside it.
 */
export function createProfile({ requestsFor, ...fixed }: ProfileOptions): Profile {
  let settled: Applied | null = null;
  return {
    measure: (applied, level, { signal, onProgress, budgetMs }) => {
      const isServed = applied.change === 'none' && settled?.candidate.fingerprint === applied.candidate.fingerprint;
      const isFresh = applied !== settled && !isServed;
      const settleMs = isFresh ? Math.min(applied.loadMs, MAX_SETTLE_MS) : 0;
      settled = applied;
      const requests = requestsFor(applied.candidate);
      return measureLevel({
        ...fixed,
        ...(budgetMs !== undefined && { budgetMs }),
        requests,
        instances: instancesOf(applied.candidate.config),
        isFresh,
        requestsPerExecution: requestsPerExecution(applied.candidate, requests.batch),
        settleMs,
        level,
        signal,
        onProgress,
      });
    },
  };
}

/** Without dynamic batching an execution takes one request. */
function requestsPerExecution({ config }: Candidate, batch: number): number {
  return config.dynamic_batching ? Math.max(1, Math.floor((config.max_batch_size ?? 0) / batch)) : 1;
}
