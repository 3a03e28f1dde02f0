import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, isIPv6 } from 'node:net';
import { messageOf, TrituneError } from '../../base/errors.ts';

/** Certificate and key of a listening program in PEM; with `ca`, only clients with a certificate of that CA may connect. */
export interface ListeningTls {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca?: Buffer | undefined;
}

/** Limits on connections to a listening program. */
interface ConnectionLimits {
  readonly connections: number;
  /** For a TLS handshake, for the head of a request, and for a whole request. */
  readonly requestMs: number;
}

const LIMITS_CHECK_MS = 500;

/** Returns an HTTP server, by TLS if there is a certificate. It does not listen yet. */
export function limitedServer(tls: ListeningTls | undefined, { connections, requestMs }: ConnectionLimits): Server {
  // Node checks the limits every 30 s by default.
  const connectionsCheckingInterval = Math.min(requestMs, LIMITS_CHECK_MS);
  const server: Server = tls
    ? createSecureServer({
        ...{ cert: tls.cert, key: tls.key, minVersion: 'TLSv1.2', handshakeTimeout: requestMs },
        connectionsCheckingInterval,
        ...(tls.ca && { ca: tls.ca, requestCert: true, rejectUnauthorized: true }),
      })
    : createServer({ connectionsCheckingInterval });
  server.maxConnections = connections;
  server.headersTimeout = requestMs;
  server.requestTimeout = requestMs;
  return server;
}

/** Listens, on a free port for port 0. Returns HOST:PORT. Errors: USAGE, with this hint, for an address that cannot be used. */
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
    throw new TrituneError('USAGE', `cannot listen on ${host}:${port}: ${messageOf(error)}`, hint);
  }
  const { address, port: own } = server.address() as AddressInfo;
  return `${isIPv6(address) ? `[${address}]` : address}:${own}`;
}

/** Stops listening. `endWork`: what ends before the remaining connections are closed. */
export async function stopListening(server: Server, endWork?: () => Promise<void>): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  await endWork?.();
  server.closeAllConnections();
  await closed;
}
