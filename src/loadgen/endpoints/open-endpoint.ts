import { redacting } from '../transports/redacting-transport.ts';
import type { Transport } from '../types.ts';
import type { EndpointOptions } from './endpoint.ts';
import { EventEndpoint } from './event-endpoint.ts';
import { openGrpcEndpoint } from './grpc-endpoint.ts';

/**
 * Opens a transport that sends prompts to a language model and reports when each piece of the reply
 * arrived. It holds a timer and sockets until `close()`. No failure message repeats the value of a
 * header. Errors: USAGE for a bad address.
 */
export function openEndpoint(options: EndpointOptions): Transport {
  const { endpoint, headers } = options;
  const opened: Transport =
    endpoint.kind === 'triton-grpc' ? openGrpcEndpoint(options, endpoint) : new EventEndpoint(options);
  return headers.length > 0 ? redacting(opened, headers) : opened;
}
