import type { OpenOptions } from '../../loadgen/transports/open.ts';
import type { OnObserved } from '../../loadgen/workers/observed-requests.ts';
import { openWorkers } from '../../loadgen/workers/open-workers.ts';
import type { Workers } from '../../loadgen/workers/workers.ts';
import type { ClientSpec, RequestSpec } from '../../spec/traffic-spec.ts';

/**
 * The threads that send, each over a transport of these options. This thread never does while something is measured: what else it
 * has to do would make replies look late that are not.
 */
export function clientThreadsOf(
  { clientThreads = 1, outputTolerance = 0 }: ClientSpec & Pick<RequestSpec, 'outputTolerance'>,
  protocol: 'grpc' | 'http',
  { check, ...options }: OpenOptions,
  onObserved?: OnObserved,
): Workers {
  const transport = { protocol, options, tolerance: check && outputTolerance, observes: onObserved !== undefined };
  return openWorkers(clientThreads, transport, {}, onObserved);
}
