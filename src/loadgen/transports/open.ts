import type { Transport, TransportOptions } from '../types.ts';
import { openGrpcLean } from './grpc-lean.ts';
import { openHttpLean } from './http-lean.ts';

/** A plaintext transport to one server. It holds a timer and sockets until `close()`. Errors: USAGE for a bad address. */
export function openTransport(protocol: 'grpc' | 'http', options: TransportOptions): Transport {
  return protocol === 'grpc' ? openGrpcLean(options) : openHttpLean(options);
}
