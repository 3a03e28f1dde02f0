import type { OpenOptions } from '../loadgen/transports/open.ts';
import { openWorkers, type Workers } from '../loadgen/workers/open-workers.ts';
import type { ClientFlags } from './client-options.ts';
import type { RequestOptions } from './request-options.ts';

/**
 * The threads that send in place of this one, each over a transport of these options; undefined where this one does. `apart`:
 * this thread has other things to do, which would make replies look late that are not.
 */
export function clientThreadsOf(
  { clientThreads = 1, outputTolerance = 0 }: ClientFlags & Pick<RequestOptions, 'outputTolerance'>,
  protocol: 'grpc' | 'http',
  { check, ...options }: OpenOptions,
  apart: boolean,
): Workers | undefined {
  if (clientThreads === 1 && !apart) return undefined;
  return openWorkers(clientThreads, { protocol, options, tolerance: check && outputTolerance });
}
