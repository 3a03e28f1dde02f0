import { createHash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, isIPv6 } from 'node:net';
import { availableParallelism } from 'node:os';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { realClock } from '../../base/clock.ts';
import { messageOf, TrituneError } from '../../base/errors.ts';
import type { AgentLimits } from './limits.ts';
import {
  AGENT_PATH,
  AGENT_PROTOCOL,
  CONTROLLER_HEADER,
  HEALTH_PATH,
  MOST_MESSAGE_BYTES,
  PROTOCOL_HEADER,
} from './protocol.ts';
import { ServedConnection } from './served-connection.ts';
import { AgentUsage } from './usage.ts';

/** Start options of an agent. */
export interface AgentOptions {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** Anyone with the token may use the agent. */
  readonly token: string;
  /** Certificate and key in PEM; with `ca` only clients with a certificate of that CA may connect. If absent, connections are in plaintext. */
  readonly tls?: { readonly cert: Buffer; readonly key: Buffer; readonly ca?: Buffer | undefined } | undefined;
  readonly limits: AgentLimits;
  /** Reports events, one line each, without secrets. */
  readonly tell: (line: string) => void;
}

export interface RunningAgent {
  /** HOST:PORT */
  readonly address: string;
  /** Ends its work for the controller and stops listening. */
  close(): Promise<void>;
}

/** A controller with several models has one connection per model. */
const MOST_CONNECTIONS = 64;
const HANDSHAKE_LIMIT_MS = 5000;

/**
 * Starts an agent: threads that send requests for one controller at a time, wherever it runs. Errors: USAGE for an address that it cannot bind.
 */
export async function startAgent(options: AgentOptions): Promise<RunningAgent> {
  const agent = new ListeningAgent(options);
  const server = options.tls ? secureServer(options.tls) : createServer();
  server.maxConnections = MOST_CONNECTIONS;
  server.headersTimeout = HANDSHAKE_LIMIT_MS;
  server.requestTimeout = HANDSHAKE_LIMIT_MS;
  server.on('request', (request, reply) => {
    const isHealth = request.method === 'GET' && request.url === HEALTH_PATH;
    reply.writeHead(isHealth ? 200 : 404, { 'content-type': 'text/plain' }).end(isHealth ? 'ok\n' : 'not found\n');
  });
  server.on('upgrade', (request, socket, head) => agent.upgrade(request, socket, head));
  await listen(server, options);
  const { address, port } = server.address() as AddressInfo;
  return {
    address: `${isIPv6(address) ? `[${address}]` : address}:${port}`,
    async close() {
      const closed = once(server, 'close');
      server.close();
      await agent.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

const secureServer = ({ cert, key, ca }: NonNullable<AgentOptions['tls']>): Server =>
  createSecureServer({
    ...{ cert, key, minVersion: 'TLSv1.2', handshakeTimeout: HANDSHAKE_LIMIT_MS },
    ...(ca && { ca, requestCert: true, rejectUnauthorized: true }),
  });

async function listen(server: Server, { host, port }: AgentOptions): Promise<void> {
  try {
    const listening = once(server, 'listening');
    server.listen(port, host);
    await listening;
  } catch (error) {
    throw new TrituneError(
      'USAGE',
      `cannot listen on ${host}:${port}: ${messageOf(error)}`,
      'choose another address with --listen',
    );
  }
}

class ListeningAgent {
  readonly #options: AgentOptions;
  readonly #tokenHash: Buffer;
  readonly #sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MOST_MESSAGE_BYTES,
    perMessageDeflate: false,
    clientTracking: false,
  });
  readonly #usage: AgentUsage;
  readonly #connections = new Set<ServedConnection>();
  /** The controller that owns the connections. */
  #controller = '';

  constructor(options: AgentOptions) {
    this.#options = options;
    this.#tokenHash = hashOf(options.token);
    this.#usage = new AgentUsage(options.limits, realClock.nowNs());
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    // A client that hangs up in the middle is not an error.
    socket.on('error', () => socket.destroy());
    const refusal = this.#refusalOf(request);
    if (refusal) {
      this.#options.tell(`refused a connection from ${peerOf(request)}: ${refusal}`);
      socket.end(`HTTP/1.1 ${refusal}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    this.#controller = request.headers[CONTROLLER_HEADER] as string;
    this.#sockets.handleUpgrade(request, socket, head, (opened) => {
      const connection = new ServedConnection(opened, this.#usage, availableParallelism(), (why) => {
        this.#connections.delete(connection);
        this.#options.tell(`the controller at ${peerOf(request)} is gone: ${why}`);
      });
      this.#connections.add(connection);
      this.#options.tell(`a controller connected from ${peerOf(request)}`);
    });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#connections].map((connection) => connection.close('the agent was stopped')));
    this.#sockets.close();
  }

  /** A status line with the reason for refusing the connection; null if it is accepted. */
  #refusalOf({ url, headers }: IncomingMessage): string | null {
    if (url !== AGENT_PATH) return '404 Not Found';
    const [scheme, token = ''] = (headers.authorization ?? '').split(' ');
    // Hashes have equal lengths, so the comparison does not reveal the token's length.
    const isKnown = timingSafeEqual(hashOf(token), this.#tokenHash) && scheme === 'Bearer';
    if (!isKnown) return '401 Unauthorized';
    if (headers[PROTOCOL_HEADER] !== String(AGENT_PROTOCOL)) return '426 Upgrade Required';
    const controller = headers[CONTROLLER_HEADER];
    if (typeof controller !== 'string' || !/^[0-9a-f-]{36}$/.test(controller)) return '400 Bad Request';
    return this.#connections.size > 0 && controller !== this.#controller ? '409 Conflict' : null;
  }
}

const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest();

const peerOf = ({ socket }: IncomingMessage): string =>
  `${socket.remoteAddress ?? 'nowhere'}:${socket.remotePort ?? 0}`;
