import type { IncomingMessage, ServerResponse } from 'node:http';
import { withDeadline } from '#base/abort.ts';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { hasBearerToken } from '#loadgen/bearer-token.ts';
import { admit, type ListeningTls, limitedServer, listenAt, stopListening } from '#loadgen/listening-server.ts';
import { isLoopback } from '#loadgen/loopback.ts';
import type { Board } from './board.ts';
import { pageFiles, pageHeaders } from './page-assets.ts';
import { type Controls, orderIn } from './page-controls.ts';
import { Viewers } from './viewers.ts';

/** How the page is served. */
export interface PageOptions {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** Without this option, everything is plaintext. */
  readonly tls?: ListeningTls | undefined;
  readonly board: Board;
  /** null for a page that cannot steer. */
  readonly controls: Controls | null;
  /** Called with a message for each order to a study. */
  readonly tell: (line: string) => void;
}

export interface RunningPage {
  /** The page's address for a browser. */
  readonly url: string;
  close(): Promise<void>;
}

const EVENTS_PATH = '/events';
const TICK_MS = 500;
const REQUEST_LIMIT_MS = 5_000;
/** An order fails if its source does not take it within this time. */
const ORDER_LIMIT_MS = 15_000;
const MAX_BODY_BYTES = 4_096;
const MAX_VIEWERS = 64;
const MAX_CONNECTIONS = 256;
/** A viewer with this much unread data gets no more until it has read it. */
const MAX_PENDING_BYTES = 2 ** 20;

/** Serves the page until it is closed. Errors: USAGE for an address that it cannot use. */
export async function servePage(options: PageOptions): Promise<RunningPage> {
  const { tls } = options;
  const page = new Page(options);
  const server = limitedServer(tls, { connections: MAX_CONNECTIONS, requestMs: REQUEST_LIMIT_MS });
  server.on('request', (request, reply) => {
    // A viewer stays: their number has its own limit.
    if (request.url === EVENTS_PATH && page.viewers.count < MAX_VIEWERS) admit(server, request);
    page.answer(request, reply).catch((error: unknown) => {
      options.tell(`a request failed: ${formatMessage(error)}`);
      reply.destroy();
    });
  });
  const address = await listenAt(server, options, 'give another --listen');
  const ticker = setInterval(() => page.viewers.tick(), TICK_MS);
  return {
    url: `${tls ? 'https' : 'http'}://${address}/`,
    async close() {
      clearInterval(ticker);
      await stopListening(server);
    },
  };
}

/** The number of the study's records in a chart, as the `chart` of its view. */
const RECORDS_HEADER = 'tritune-records';

class Page {
  readonly viewers: Viewers;
  readonly #options: PageOptions;
  readonly #files = pageFiles();

  constructor(options: PageOptions) {
    this.#options = options;
    this.viewers = new Viewers(options.board, () => performance.now());
  }

  async answer(request: IncomingMessage, reply: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(pageHeaders)) reply.setHeader(name, value);
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://page');
    if (!this.#isMeant(request)) return plain(reply, 421, 'this page is for its own machine: open it by localhost');
    const [, study, what] = /^\/studies\/([^/]+)\/(front\.svg|trials|orders)$/.exec(pathname) ?? [];
    if (study !== undefined && what === 'orders') return this.#order(request, reply, study);
    if (request.method !== 'GET' && request.method !== 'HEAD') return plain(reply, 405, 'only GET');
    if (pathname === '/health') return plain(reply, 200, 'ok');
    if (pathname === EVENTS_PATH) return this.#stream(request, reply);
    if (study !== undefined && what === 'trials') return this.#trials(reply, study, searchParams);
    if (study !== undefined) return this.#chart(reply, study, searchParams.get('paper') === 'narrow');
    const file = this.#files.get(pathname);
    if (!file) return plain(reply, 404, 'not found');
    reply.writeHead(200, { 'content-type': file.type }).end(file.text);
  }

  /**
   * A page on the loopback interface only answers to its own names: no other site's name that
   * resolves to it may read it.
   */
  #isMeant({ headers: { host = '' } }: IncomingMessage): boolean {
    return !isLoopback(this.#options.host) || isLoopback(host);
  }

  #stream(request: IncomingMessage, reply: ServerResponse): void {
    if (this.viewers.count >= MAX_VIEWERS) {
      plain(reply, 503, `${MAX_VIEWERS} viewers watch already`);
      return;
    }
    reply.writeHead(200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
    if (request.method === 'HEAD') {
      reply.end();
      return;
    }
    const viewer = this.viewers.add({
      write: (text) => {
        reply.write(text);
        return reply.writableLength < MAX_PENDING_BYTES;
      },
    });
    reply.on('drain', () => viewer.drained());
    reply.on('close', () => viewer.leave());
    // A client that hangs up early is no error.
    reply.on('error', () => viewer.leave());
  }

  #chart(reply: ServerResponse, study: string, isNarrow: boolean): void {
    const chart = this.#options.board.chart(decoded(study), isNarrow ? 'narrow' : 'wide');
    if (!chart) {
      plain(reply, 404, 'nothing was measured');
      return;
    }
    // A client that wants a newer chart asks again.
    reply.setHeader(RECORDS_HEADER, chart.records);
    reply.writeHead(200, { 'content-type': 'image/svg+xml; charset=utf-8' }).end(chart.svg);
  }

  #trials(reply: ServerResponse, study: string, params: URLSearchParams): void {
    const [words = '', server = '', failure = ''] = ['words', 'server', 'failure'].map(
      (name) => params.get(name) ?? '',
    );
    const trials = this.#options.board.find(decoded(study), { words, server, failure });
    if (!trials) {
      plain(reply, 404, 'the records of this study are not read');
      return;
    }
    reply.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(trials));
  }

  async #order(request: IncomingMessage, reply: ServerResponse, name: string): Promise<void> {
    const { controls, tell } = this.#options;
    if (request.method !== 'POST') return plain(reply, 405, 'only POST');
    if (!controls)
      return plain(reply, 403, 'this page is for looking alone: start it with --token-file to steer studies');
    if (!hasBearerToken(request.headers.authorization, controls.token)) {
      tell(`refused an order from ${request.socket.remoteAddress ?? 'somewhere'}: it has not the token`);
      reply.setHeader('www-authenticate', 'Bearer');
      return plain(reply, 401, 'the token is another one');
    }
    const order = orderIn(await readBody(request));
    if (!order) return plain(reply, 400, 'this is no order');
    const study = decoded(name);
    tell(`${study}: ${order.kind} was asked for from ${request.socket.remoteAddress ?? 'somewhere'}`);
    try {
      await withLimit(controls.order(study, order));
    } catch (error) {
      return plain(reply, 502, formatMessage(error));
    }
    reply.writeHead(204).end();
  }
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

function plain(reply: ServerResponse, status: number, text: string): void {
  reply.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${text}\n`);
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > MAX_BODY_BYTES) return '';
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

/** Errors: SERVER_TIMEOUT. */
function withLimit(work: Promise<void>): Promise<void> {
  const late = (): TrituneError =>
    new TrituneError(
      'SERVER_TIMEOUT',
      'the fleet did not accept the command in time',
      'check that the fleet can be reached, and try again',
    );
  return withDeadline(work, ORDER_LIMIT_MS, late);
}
