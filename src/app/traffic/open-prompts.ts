import { nullRuns } from '#loadgen/client/ceiling.ts';
import type { EndpointOptions } from '#loadgen/endpoints/endpoint.ts';
import { requireChatForm, requireTexts } from '#loadgen/endpoints/text-apis.ts';
import { requirePlaces } from '#loadgen/endpoints/triton-request.ts';
import type { RequestSet } from '#loadgen/types.ts';
import type { OnObserved } from '#loadgen/workers/observed-requests.ts';
import type { ClientSpec } from '#spec/traffic-spec.ts';
import { startClientThreads } from './client-threads.ts';
import { type Sender, threadSender } from './sender.ts';

/**
 * Opens the threads that measure, and warms them up against a server that does nothing. An observer
 * gets each request. Errors: USAGE, AGENT_FAILED; INPUT_INVALID for fields of prompts that the
 * endpoint does not take.
 */
export async function openPromptTraffic(
  options: EndpointOptions,
  requests: RequestSet,
  client: ClientSpec,
  onObserved?: OnObserved,
): Promise<Sender> {
  if ('inputs' in options.endpoint) {
    requireTexts(requests.requests, 'a Triton model takes');
    requirePlaces(requests, options.endpoint);
  } else requireChatForm(requests, options.endpoint);
  const { address, host, model, endpoint, timeoutMs, headers, tls, extra } = options;
  // Agents take no other field, and callers have some.
  const sent = { address, host, model, endpoint, timeoutMs, headers, tls, ...(extra && { extra }) };
  const workers = await startClientThreads(client, { protocol: 'language', options: sent }, onObserved);
  const protocol = options.endpoint.kind === 'triton-grpc' ? 'grpc-text' : 'events';
  await nullRuns(workers, { protocol, requests }).warmUp();
  return threadSender(workers);
}
