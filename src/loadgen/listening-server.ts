import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, isIPv6, type Socket } from 'node:net';
import { withDeadline } from '#base/abort.ts';
import { formatMessage, TrituneError } from '#base/errors.ts';

/**
 * Certificate and key of a listening program in PEM; with `ca`, only clients with a certificate of
 * that CA may connect.
 */
export interface ListeningTls {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca?: Buffer | undefined;
}

/** Limits on connections to a listening program. */
interface ConnectionLimits {
  /** Connections that have not been admitted; one more ends the oldest of them. */
  readonly connections: number;
  /** For a TLS handshake and the head of the first request together, and for each whole request. */
  readonly requestMs: number;
}

const LIMITS_CHECK_MS = 500;
/** Time for work to end before all connections are closed without it. */
const END_LIMIT_MS = 2000;

/** The connections of each server, below TLS. */
const waitingByServer = new WeakMap<Server, WaitingConnections>();

/** Returns an HTTP server, by TLS if there is a certificate. It does not listen yet. */
export function limitedServer(tls: ListeningTls | undefined, { connections, requestMs }: ConnectionLimits): Server {
  // Node checks the limits every 30 s by default.
  const connectionsCheckingInterval = Math.min(requestMs, LIMITS_CHECK_MS);
  const server: Server = tls
    ? createSecureServer({
        cert: tls.cert,
        key: tls.key,
        minVersion: 'TLSv1.2',
        handshakeTimeout: requestMs,
        connectionsCheckingInterval,
        ...(tls.ca && { ca: tls.ca, requestCert: true, rejectUnauthorized: true }),
      })
    : createServer({ connectionsCheckingInterval });
  server.headersTimeout = requestMs;
  server.requestTimeout = requestMs;
  server.keepAliveTimeout = requestMs;
  const waiting = new WaitingConnections(connections, requestMs);
  waitingByServer.set(server, waiting);
  server.on('connection', (socket: Socket) => waiting.add(socket));
  server.on('request', ({ socket }: IncomingMessage) => waiting.heard(socket));
  return server;
}

/**
 * Takes the connection of this request off the limit of those that wait to be admitted. It stays
 * open until its own end.
 */
export const admit = (server: Server, { socket }: IncomingMessage): void => waitingByServer.get(server)?.admit(socket);

/**
 * All open connections, and those that nobody admitted yet: a stranger's next one ends the oldest
 * of these, and so no stranger holds a place.
 */
class WaitingConnections {
  readonly #most: number;
  readonly #firstRequestMs: number;
  readonly #open = new Set<Socket>();
  /** The oldest first, each with the limit of its first request. */
  readonly #waiting = new Map<Socket, NodeJS.Timeout>();

  constructor(most: number, firstRequestMs: number) {
    this.#most = most;
    this.#firstRequestMs = firstRequestMs;
  }

  add(socket: Socket): void {
    const [oldest] = this.#waiting.keys();
    if (this.#waiting.size >= this.#most) oldest?.destroy();
    this.#open.add(socket);
    const limit = setTimeout(() => socket.destroy(), this.#firstRequestMs);
    this.#waiting.set(socket, limit);
    socket.once('close', () => {
      clearTimeout(limit);
      this.#open.delete(socket);
      this.#waiting.delete(socket);
    });
  }

  heard(socket: Socket): void {
    const below = this.#below(socket);
    if (below) clearTimeout(this.#waiting.get(below));
  }

  admit(socket: Socket): void {
    const below = this.#below(socket);
    if (below === undefined) return;
    clearTimeout(this.#waiting.get(below));
    this.#waiting.delete(below);
  }

  destroyAll(): void {
    for (const socket of this.#open) socket.destroy();
  }

  /** A socket with TLS has the peer's port of the one below it. */
  #below(socket: Socket): Socket | undefined {
    if (this.#open.has(socket)) return socket;
    return [...this.#open].find(
      ({ remotePort, remoteAddress }) => remotePort === socket.remotePort && remoteAddress === socket.remoteAddress,
    );
  }
}

/**
 * Listens, on a free port for port 0. Returns HOST:PORT. Errors: USAGE, with this hint, for an
 * address that cannot be used.
 */
export async function listenAt(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
  hint: string,
): Promise<string> {
  try {
    const listening = once(server, 'listening');
    server.listen(port, host);
    await listening;
  } catch (error) {
    throw new TrituneError('USAGE', `cannot listen on ${host}:${port}: ${formatMessage(error)}`, hint);
  }
  const { address, port: boundPort } = server.address() as AddressInfo;
  return `${isIPv6(address) ? `[${address}]` : address}:${boundPort}`;
}

/**
 * Stops listening. `endWork`: what ends before the remaining connections are closed, but no later
 * than a limit.
 */
export async function stopListening(server: Server, endWork?: () => Promise<void>): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  if (endWork) await withDeadline(endWork(), END_LIMIT_MS, tooSlow).catch(() => undefined);
  waitingByServer.get(server)?.destroyAll();
  await closed;
}

const tooSlow = (): TrituneError =>
  new TrituneError('INTERRUPTED', 'the work did not end in time', 'nothing is to be done: its connections are closed');
