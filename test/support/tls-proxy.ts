import { connect, type Server, type Socket } from 'node:net';
import { createServer } from 'node:tls';
import type { ServerTls } from './certificates.ts';
import { listen } from './misbehaving-server.ts';

/** Takes TLS off what comes and passes it on to a plaintext server. */
export async function startTlsProxy(
  target: string,
  tls: ServerTls,
  protocols: readonly string[],
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const [host, port] = target.split(':');
  const sockets = new Set<Socket>();
  const server = createServer(serverOptions(tls, protocols), (inner) => {
    const outer = connect({ host: host as string, port: Number(port), noDelay: true });
    for (const socket of [inner, outer]) {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
      socket.on('error', () => undefined);
    }
    inner.on('close', () => outer.destroy());
    outer.on('close', () => inner.destroy());
    inner.pipe(outer).pipe(inner);
  });
  const bound = await listen(server as unknown as Server);
  return {
    url: `127.0.0.1:${bound}`,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/**
 * Options of `node:tls` and `node:http2` for a server; it asks for the client's certificate when it
 * has a CA for them.
 */
export function serverOptions({ key, cert, clientCa }: ServerTls, protocols: readonly string[]) {
  const wantsToKnow = clientCa === undefined ? {} : { ca: clientCa, requestCert: true, rejectUnauthorized: true };
  return { key, cert, ALPNProtocols: [...protocols], noDelay: true, ...wantsToKnow };
}
