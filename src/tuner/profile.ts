import type { RequestSet } from '../loadgen/types.ts';
import type { LevelOptions } from '../profiler/level-options.ts';
import { measureLevel } from '../profiler/measure-level.ts';
import type { Candidate } from '../space/types.ts';
import { instancesOf } from '../study/metrics.ts';
import type { Profile } from './seams.ts';

/** What stays the same from one measurement to the next, and the requests to send to a candidate. */
export interface ProfileOptions
  extends Omit<LevelOptions, 'requests' | 'level' | 'instances' | 'signal' | 'onProgress'> {
  readonly requestsFor: (candidate: Candidate) => RequestSet;
}

/** Profiles what is served over the transport of the options. */
export function createProfile({ requestsFor, ...fixed }: ProfileOptions): Profile {
  return {
    measure: ({ candidate }, level, { signal, onProgress }) =>
      measureLevel({
        ...fixed,
        requests: requestsFor(candidate),
        instances: instancesOf(candidate.config),
        level,
        signal,
        onProgress,
      }),
  };
}
