import type { TlsOptions } from '../../triton/wire/tls.ts';
import { Http1Connections } from '../transports/http1/connections.ts';
import { requestBytes } from '../transports/http1/request.ts';
import { SENT } from '../transports/outcome.ts';
import { endpointOf } from '../transports/socket.ts';
import type { RequestHeader, RequestSender, SendOutcome } from '../types.ts';
import type { ReplyTally } from './tally.ts';

/** A request to any server of HTTP/1.1. */
export interface PlainHttpRequest {
  readonly method: string;
  /** The Host header. */
  readonly host: string;
  readonly target: string;
  readonly headers: readonly RequestHeader[];
  /** null for none. */
  readonly body: Uint8Array | null;
}

export interface PlainHttpOptions {
  /** HOST:PORT */
  readonly address: string;
  /** Without it everything goes in plaintext. */
  readonly tls?: TlsOptions | undefined;
  readonly timeoutMs: number;
  /** False: a connection for every request. */
  readonly keepsAlive: boolean;
}

interface PreparedPlainRequest {
  /** Head and body. */
  readonly bytes: Buffer;
}

/**
 * A sender of one request, over and over, whose replies all count as sent, whatever their status: what they are is in
 * `tally`. Redirects are replies like any other. Errors: USAGE for a bad address.
 */
export function openPlainHttp(options: PlainHttpOptions, request: PlainHttpRequest, tally: ReplyTally): PlainHttp {
  return new PlainHttp(options, request, tally);
}

class PlainHttp implements RequestSender<PreparedPlainRequest> {
  readonly request: PreparedPlainRequest;
  readonly #connections: Http1Connections;

  constructor({ address, tls, timeoutMs, keepsAlive }: PlainHttpOptions, request: PlainHttpRequest, tally: ReplyTally) {
    const goodbye = keepsAlive ? [] : [{ name: 'Connection', value: 'close' }];
    this.request = { bytes: requestBytes({ ...request, headers: [...request.headers, ...goodbye] }) };
    this.#connections = new Http1Connections(endpointOf(address, tls, 'http/1.1'), timeoutMs, {
      keepsAlive,
      isBodiless: request.method === 'HEAD',
      phases: tally,
      outcomeOf: ({ statusCode, bodyBytes }) => {
        tally.count(statusCode, bodyBytes);
        return SENT;
      },
    });
  }

  send({ bytes }: PreparedPlainRequest, done: (outcome: SendOutcome) => void): void {
    this.#connections.send(bytes, done);
  }

  async close(): Promise<void> {
    this.#connections.close();
  }
}
