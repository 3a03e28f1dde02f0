import type { Transport } from '#loadgen/types.ts';
import type { ServerTls } from './certificates.ts';
import { startGrpcServer, startHttpServer } from './infer-servers.ts';
import type { TransportSubject } from './transport-suite.ts';

type Open = (url: string, timeoutMs: number) => Transport;

/** An empty SETTINGS frame: the first thing that an HTTP/2 server says. */
export const EMPTY_SETTINGS = Uint8Array.of(0, 0, 0, 4, 0, 0, 0, 0, 0);

const grpcCodes = [
  'CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED CODE_17',
];

export function grpcSubject(name: string, open: Open, tls?: () => ServerTls): TransportSubject {
  return {
    name,
    open,
    tls,
    startServer: (port) => startGrpcServer({}, port, tls?.()),
    greeting: EMPTY_SETTINGS,
    statuses: grpcCodes.flatMap((line) => line.split(' ')).map((status, index) => ({ code: index + 1, status })),
  };
}

export function httpSubject(name: string, open: Open, tls?: () => ServerTls): TransportSubject {
  return {
    name,
    open,
    tls,
    startServer: (port) => startHttpServer(port, tls?.()),
    statuses: [400, 403, 404, 500, 501, 503].map((code) => ({ code, status: String(code) })),
  };
}
