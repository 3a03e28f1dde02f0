import type { IncomingMessage } from 'node:http';
import { availableParallelism } from 'node:os';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { realClock } from '#base/clock.ts';
import { hasBearerToken } from '../bearer-token.ts';
import { admit, type ListeningTls, limitedServer, listenAt, stopListening } from '../listening-server.ts';
import type { AgentLimits } from './limits.ts';
import {
  AGENT_PATH,
  AGENT_PROTOCOL,
  CONTROLLER_HEADER,
  HEALTH_PATH,
  MAX_MESSAGE_BYTES,
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
  /** If absent, connections are in plaintext. */
  readonly tls?: ListeningTls | undefined;
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

/**
 * A controller with several models has one connection per model; as many others may wait to be let
 * in.
 */
const MAX_CONNECTIONS = 64;
const HANDSHAKE_LIMIT_MS = 5000;

/**
 * Starts an agent: threads that send requests for one controller at a time, wherever it runs.
 * Errors: USAGE for an address that it cannot bind.
 */
export async function startAgent(options: AgentOptions): Promise<RunningAgent> {
  const agent = new ListeningAgent(options);
  const limits = { connections: MAX_CONNECTIONS, requestMs: HANDSHAKE_LIMIT_MS };
  const server = limitedServer(options.tls, limits);
  server.on('request', (request, reply) => {
    const isHealth = request.method === 'GET' && request.url === HEALTH_PATH;
    reply.writeHead(isHealth ? 200 : 404, { 'content-type': 'text/plain' }).end(isHealth ? 'ok\n' : 'not found\n');
  });
  server.on('upgrade', (request, socket, head) => {
    if (agent.upgrade(request, socket, head)) admit(server, request);
  });
  const address = await listenAt(server, options, 'choose another address with --listen');
  return { address, close: () => stopListening(server, () => agent.close()) };
}

class ListeningAgent {
  readonly #options: AgentOptions;
  readonly #sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
    clientTracking: false,
  });
  readonly #usage: AgentUsage;
  readonly #connections = new Set<ServedConnection>();
  /** The controller that owns the connections. */
  #controller = '';

  constructor(options: AgentOptions) {
    this.#options = options;
    this.#usage = new AgentUsage(options.limits, realClock.nowNs());
  }

  /** Returns whether the connection is accepted. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean {
    // A client that hangs up in the middle is not an error.
    socket.on('error', () => socket.destroy());
    const refusal = this.#findRefusal(request);
    if (refusal) {
      this.#options.tell(`refused a connection from ${formatPeer(request)}: ${refusal}`);
      // Does not wait for the peer to close: until then it would hold a place.
      socket.end(`HTTP/1.1 ${refusal}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () => socket.destroy());
      return false;
    }
    this.#controller = request.headers[CONTROLLER_HEADER] as string;
    this.#sockets.handleUpgrade(request, socket, head, (opened) => {
      const connection = new ServedConnection(opened, socket, this.#usage, availableParallelism(), (why) => {
        this.#connections.delete(connection);
        this.#options.tell(`the controller at ${formatPeer(request)} is gone: ${why}`);
      });
      this.#connections.add(connection);
      this.#options.tell(`a controller connected from ${formatPeer(request)}`);
    });
    return true;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#connections].map((connection) => connection.close('the agent was stopped')));
    this.#sockets.close();
  }

  /** A status line with the reason for refusing the connection; null if it is accepted. */
  #findRefusal({ url, headers }: IncomingMessage): string | null {
    if (url !== AGENT_PATH) return '404 Not Found';
    if (!hasBearerToken(headers.authorization, this.#options.token)) return '401 Unauthorized';
    if (headers[PROTOCOL_HEADER] !== String(AGENT_PROTOCOL)) return '426 Upgrade Required';
    const controller = headers[CONTROLLER_HEADER];
    if (typeof controller !== 'string' || !/^[0-9a-f-]{36}$/.test(controller)) return '400 Bad Request';
    if (this.#connections.size >= MAX_CONNECTIONS) return '503 Service Unavailable';
    return this.#connections.size > 0 && controller !== this.#controller ? '409 Conflict' : null;
  }
}

const formatPeer = ({ socket }: IncomingMessage): string =>
  `${socket.remoteAddress ?? 'nowhere'}:${socket.remotePort ?? 0}`;
