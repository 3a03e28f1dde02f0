import { TrituneError } from '../base/errors.ts';
import { clientOver, type Deadlines } from './client.ts';
import { grpcWire } from './grpc-wire.ts';
import { httpWire } from './http-wire.ts';
import type { TritonClient } from './types.ts';
import { isHostAndPort } from './wire.ts';

export type ConnectOptions = Partial<Deadlines>;

const defaultDeadlines: Deadlines = { defaultTimeoutMs: 10_000, loadTimeoutMs: 600_000 };

/** A client over gRPC to the server at HOST:PORT. Connects on the first call. Errors: USAGE for another form of address. */
export function connectGrpc(url: string, options: ConnectOptions = {}): TritonClient {
  return clientOver(grpcWire(checked(url)), { ...defaultDeadlines, ...options });
}

/** A client over HTTP to the server at HOST:PORT. Connects on the first call. Errors: USAGE for another form of address. */
export function connectHttp(url: string, options: ConnectOptions = {}): TritonClient {
  return clientOver(httpWire(checked(url)), { ...defaultDeadlines, ...options });
}

function checked(url: string): string {
  if (isHostAndPort(url)) return url;
  throw new TrituneError('USAGE', `'${url}' is not a server address`, 'write HOST:PORT, such as localhost:8001');
}
