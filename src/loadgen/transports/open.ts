import type { Transport, TransportOptions } from '../types.ts';
import { openGrpcLean } from './grpc-lean.ts';
import { openUndici } from './undici.ts';

/** A transport to one server. It holds a timer and sockets until `close()`. */
export function openTransport(protocol: 'grpc' | 'http', options: TransportOptions): Transport {
  return protocol === 'grpc' ? openGrpcLean(options) : openUndici(options);
}
