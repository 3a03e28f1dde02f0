import type { TlsOptions } from '#triton/wire/tls.ts';
import { isRefusal } from './plain-http-refusal.ts';
import type { PhaseWatch } from './transports/http1-connection.ts';
import { Http1Connections } from './transports/http1-connections.ts';
import { requestBytes } from './transports/http1-request.ts';
import { badStatus } from './transports/outcome.ts';
import { createEndpoint, type SocketGate } from './transports/socket.ts';
import type {
  ClientTimes,
  InferRequest,
  PreparedRequest,
  RequestHeader,
  SendFailure,
  SendOutcome,
  Transport,
} from './types.ts';

/** A request to any HTTP/1.1 server. */
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
  /** If absent, connections are in plaintext. */
  readonly tls?: TlsOptions | undefined;
  readonly timeoutMs: number;
  /** False: one connection per request. */
  readonly keepsAlive: boolean;
  /** True: a reply with a status of 400 or more is a failure. */
  readonly refusalsFail?: boolean | undefined;
  /** If set, it decides about every socket. */
  readonly gate?: SocketGate | undefined;
}

interface PreparedPlainHttp extends PreparedRequest {
  readonly bytes: Buffer;
}

/**
 * Returns a sender that repeats one request, with another body where a request of the set has one.
 * All replies, redirects included, count as sent and are reported by their status. Errors: USAGE
 * for a bad address.
 */
export function openPlainHttp(options: PlainHttpOptions, request: PlainHttpRequest): Transport<PreparedPlainHttp> {
  return new PlainHttp(options, request);
}

class PlainHttp implements Transport<PreparedPlainHttp> {
  readonly #request: PlainHttpRequest;
  readonly #connections: Http1Connections;

  constructor(
    { address, tls, timeoutMs, keepsAlive, refusalsFail, gate }: PlainHttpOptions,
    request: PlainHttpRequest,
  ) {
    const goodbye = keepsAlive ? [] : [{ name: 'Connection', value: 'close' }];
    this.#request = { ...request, headers: [...request.headers, ...goodbye] };
    const phases = new LastPhases();
    this.#connections = new Http1Connections(createEndpoint(address, tls, 'http/1.1', gate), timeoutMs, {
      keepsAlive,
      isBodiless: request.method === 'HEAD',
      phases,
      toOutcome: ({ statusCode, bodyBytes }) =>
        refusalsFail && isRefusal(statusCode)
          ? refusal(statusCode)
          : { ok: true, reply: { status: statusCode, bodyBytes, ...phases.take() } },
    });
  }

  prepare(request: InferRequest): PreparedPlainHttp {
    const { body = this.#request.body } = request;
    return { request, bytes: requestBytes({ ...this.#request, body }) };
  }

  send({ bytes }: PreparedPlainHttp, done: (outcome: SendOutcome) => void): void {
    this.#connections.send(bytes, done);
  }

  async close(): Promise<void> {
    this.#connections.close();
  }
}

const refusal = (statusCode: number): SendFailure => ({
  ...badStatus(String(statusCode), ''),
  message: `the reply had the status ${statusCode}`,
});

const NONE: readonly number[] = [];

/**
 * Times of the exchange being reported, and of the connections that were opened since the previous
 * one.
 */
class LastPhases implements PhaseWatch {
  #lookupsNs = NONE;
  #connectsNs = NONE;
  #waitNs = 0;
  #readNs = 0;

  lookedUp(ns: number): void {
    this.#lookupsNs = [...this.#lookupsNs, ns];
  }

  connected(ns: number): void {
    this.#connectsNs = [...this.#connectsNs, ns];
  }

  replied({ sendNs, waitNs, receiveNs, unmarshalNs }: ClientTimes): void {
    this.#waitNs = sendNs + waitNs;
    this.#readNs = receiveNs + unmarshalNs;
  }

  take() {
    const [lookupsNs, connectsNs] = [this.#lookupsNs, this.#connectsNs];
    this.#lookupsNs = NONE;
    this.#connectsNs = NONE;
    return { waitNs: this.#waitNs, readNs: this.#readNs, lookupsNs, connectsNs };
  }
}
