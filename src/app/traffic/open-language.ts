import { type Alarm, openAlarm } from '../../base/alarm.ts';
import { nullRuns } from '../../loadgen/client/ceiling.ts';
import type { EndpointOptions } from '../../loadgen/endpoints/endpoint.ts';
import type { RequestSet } from '../../loadgen/types.ts';
import type { LevelOptions } from '../../profiler/level-options.ts';
import type { ClientSpec } from '../../spec/traffic-spec.ts';
import { clientThreadsOf } from './client-threads.ts';

/** An open connection that sends prompts to a language model. */
export interface LanguageTraffic {
  readonly alarm: Alarm;
  /** The threads that send instead of this one. */
  readonly threads: Required<Pick<LevelOptions, 'transport' | 'openFlow' | 'watchClient'>>;
  /** Closes the sockets. */
  close(): Promise<void>;
}

/** Opens the threads that measure, and warms them up against a server that does nothing. Errors: USAGE, AGENT_FAILED. */
export async function openLanguageTraffic(
  options: EndpointOptions,
  requests: RequestSet,
  client: ClientSpec,
): Promise<LanguageTraffic> {
  const { address, host, model, endpoint, timeoutMs, headers, tls, extra } = options;
  // Agents take no other field, and callers have some.
  const sent = { address, host, model, endpoint, timeoutMs, headers, tls, ...(extra && { extra }) };
  const workers = await clientThreadsOf(client, { protocol: 'language', options: sent });
  const protocol = options.endpoint.kind === 'triton-grpc' ? 'grpc-text' : 'events';
  await nullRuns(workers, { protocol, requests }).warmUp();
  const alarm = openAlarm();
  return {
    alarm,
    threads: {
      transport: nothingHere,
      openFlow: (order) => workers.openFlow(order),
      watchClient: workers.watchClient,
    },
    close: async () => {
      await alarm.close();
      await workers.close();
    },
  };
}

/** Only the threads send; this thread never does. */
const nothingHere: LevelOptions['transport'] = {
  prepare: (request) => ({ request }),
  send: () => undefined,
  close: () => Promise.resolve(),
};
