import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import { buildConnector, type Dispatcher, errors, Pool } from 'undici';
import { splitBasePath } from '#triton/wire/base-path.ts';
import { secureConnect } from '#triton/wire/http.ts';
import type {
  InferRequest,
  OutputTensor,
  PreparedRequest,
  SendOutcome,
  Transport,
  TransportOptions,
} from '../types.ts';
import { type Expirable, RequestDeadlines } from './deadlines.ts';
import { encodeInferCall, errorOfBody, readInferReply } from './infer-http.ts';
import { badStatus, CLOSED, failed, socketMessage, timedOut } from './outcome.ts';
import { readReply } from './read-reply.ts';
import { gateOptions, type SocketGate, watchSocket } from './socket.ts';

interface HttpRequest extends PreparedRequest {
  readonly dispatch: Dispatcher.DispatchOptions;
}

/** Bytes of a failed call's body to keep for its message. */
const MAX_ERROR_BYTES = 64 * 1024;
/** Bytes to keep of a reply that is read. */
const MAX_KEPT_BYTES = 2 ** 31 - 1;

/** KServe v2 over HTTP/1.1 through undici: one keep-alive connection per request in flight. */
export function openUndici(options: TransportOptions): Transport<HttpRequest> {
  const { tls } = options;
  const { address } = splitBasePath(options.url);
  const pool = new Pool(`${tls ? 'https' : 'http'}://${address}`, {
    connections: null,
    pipelining: 1,
    // Our own deadlines end a request; the connection itself may idle as long as the server allows.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 600_000,
    connect: createConnector(options),
  });
  const deadlines = new RequestDeadlines<Call>(options.timeoutMs);
  let open = true;

  class Call implements Expirable, Dispatcher.DispatchHandler {
    readonly #request: InferRequest;
    readonly #done: (outcome: SendOutcome) => void;
    #controller: Dispatcher.DispatchController | undefined;
    #settled = false;
    #statusCode = 0;
    #errorBody = '';
    #jsonBytes = Number.NaN;
    readonly #body: Buffer[] = [];
    #bodyBytes = 0;

    constructor(request: InferRequest, done: (outcome: SendOutcome) => void) {
      this.#request = request;
      this.#done = done;
      deadlines.add(this);
    }

    onRequestStart(controller: Dispatcher.DispatchController): void {
      this.#controller = controller;
      if (this.#settled) controller.abort(new Error('the request was given up before it was sent'));
    }

    onResponseStart(_: Dispatcher.DispatchController, statusCode: number, headers: IncomingHttpHeaders): void {
      this.#statusCode = statusCode;
      this.#jsonBytes = Number(headers['inference-header-content-length']);
    }

    onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
      if (this.#isGood() && options.readsReplies) this.#keep(chunk);
      if (this.#isGood() || this.#errorBody.length > MAX_ERROR_BYTES) return;
      this.#errorBody += chunk.toString('utf8');
    }

    onResponseEnd(): void {
      if (!this.#isGood()) this.settle(badStatus(String(this.#statusCode), errorOfBody(this.#errorBody)));
      else this.settle(readReply(options.readsReplies, () => this.#outputs()));
    }

    onResponseError(_: Dispatcher.DispatchController, error: Error): void {
      this.settle(toOutcome(error, this.#controller !== undefined));
    }

    #keep(chunk: Buffer): void {
      this.#bodyBytes += chunk.length;
      if (this.#bodyBytes <= MAX_KEPT_BYTES) this.#body.push(chunk);
      else this.end(failed('malformed', `a reply of more than ${MAX_KEPT_BYTES} bytes is not read`));
    }

    #outputs(): readonly OutputTensor[] {
      return readInferReply(Buffer.concat(this.#body), this.#jsonBytes, this.#request.sharedOutputs);
    }

    settle(outcome: SendOutcome): void {
      if (this.#settled) return;
      this.#settled = true;
      deadlines.remove(this);
      this.#done(outcome);
    }

    end(outcome: SendOutcome): void {
      this.settle(outcome);
      this.#controller?.abort(new Error('the request was given up'));
    }

    expire(): void {
      this.end(timedOut(options.timeoutMs));
    }

    #isGood(): boolean {
      return this.#statusCode >= 200 && this.#statusCode < 300;
    }
  }

  return {
    prepare: (request) => ({ request, dispatch: toDispatch(request, options) }),
    send(prepared, done) {
      if (open) pool.dispatch(prepared.dispatch, new Call(prepared.request, done));
      else done(CLOSED);
    },
    async close() {
      open = false;
      for (const call of deadlines.pending()) call.end(CLOSED);
      deadlines.stop();
      await pool.destroy();
    },
  };
}

function createConnector({ timeoutMs, tls, gate }: TransportOptions): buildConnector.connector {
  const connect = buildConnector({ timeout: timeoutMs, ...(tls && secureConnect(tls)), ...gateOptions(gate) });
  return gate ? gated(connect, gate) : connect;
}

function gated(connect: buildConnector.connector, gate: SocketGate): buildConnector.connector {
  return (options, done) => {
    const refusal = gate.take();
    if (refusal) done(refusal, null);
    // The library returns the socket before it is connected.
    else watchSocket(connect(options, done) as unknown as Socket, gate);
  };
}

function toDispatch(request: InferRequest, options: TransportOptions): Dispatcher.DispatchOptions {
  const { path, headers, body } = encodeInferCall(request, options);
  const all = [...headers, ...(options.headers ?? [])].flatMap(({ name, value }) => [name, value]);
  return { method: 'POST', path: `${splitBasePath(options.url).basePath}${path}`, headers: all, body };
}

function toOutcome(error: Error, connected: boolean): SendOutcome {
  if (error instanceof errors.ConnectTimeoutError) return failed('timeout', error.message);
  if (error instanceof errors.HTTPParserError) return failed('malformed', error.message);
  return failed(connected ? 'reset' : 'refused', socketMessage(error));
}
