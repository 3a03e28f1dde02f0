import type { Transport, TransportOptions } from '../types.ts';
import { openGrpcJs } from './grpc-js.ts';
import { openGrpcLean } from './grpc-lean.ts';
import { openHttpLean } from './http-lean.ts';
import { openUndici } from './undici.ts';

/** A transport to one server. It holds a timer and sockets until `close()`. Errors: USAGE for a bad address. */
export function openTransport(protocol: 'grpc' | 'http', options: TransportOptions): Transport {
  if (options.check) return protocol === 'grpc' ? openGrpcJs(options) : openUndici(options);
  return protocol === 'grpc' ? openGrpcLean(options) : openHttpLean(options);
}
