import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, TLSSocket } from 'node:tls';
import type { ServerTls } from './certificates.ts';

/** What a server does to a client once the client has said something. */
export type Misbehaviour = 'silent' | 'reset' | 'half-close' | 'close' | 'garbage';

export interface MisbehavingServer {
  readonly url: string;
  /** Connections accepted so far. */
  connections(): number;
  close(): Promise<void>;
}

/** A TCP server that accepts, says `greeting` and then misbehaves at the client's first bytes. */
export function startMisbehaving(
  misbehaviour: Misbehaviour,
  greeting?: Uint8Array,
  tls?: ServerTls,
): Promise<MisbehavingServer> {
  return startRaw((socket) => {
    if (greeting) socket.write(greeting);
    socket.once('data', () => misbehave(socket, misbehaviour));
  }, tls);
}

function misbehave(socket: Socket, misbehaviour: Misbehaviour): void {
  socket.resume();
  if (misbehaviour === 'reset') reset(socket);
  if (misbehaviour === 'half-close') socket.end();
  if (misbehaviour === 'close') socket.destroy();
  if (misbehaviour === 'garbage') socket.write(Buffer.alloc(64 * 1024, 'no protocol that anybody speaks '));
}

/** Ends the connection with a reset; one under TLS, where Node has none, without a goodbye. */
export function reset(socket: Socket): void {
  if (socket instanceof TLSSocket) socket.destroy();
  else socket.resetAndDestroy();
}

/**
 * A TCP server whose every connection, after TLS if there is any, is given to `serve`; socket
 * errors are ignored.
 */
export async function startRaw(
  serve: (socket: Socket, index: number) => void,
  tls?: ServerTls,
): Promise<MisbehavingServer> {
  const sockets = new Set<Socket>();
  let connections = 0;
  const accept = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    serve(socket, connections++);
  };
  const server = tls
    ? (createTlsServer({ ...tls, allowHalfOpen: true, ALPNProtocols: ['h2', 'http/1.1'] }, accept) as unknown as Server)
    : createServer({ allowHalfOpen: true }, accept);
  const port = await listen(server);
  return {
    url: `127.0.0.1:${port}`,
    connections: () => connections,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Listens on the loopback; gives the port. */
export async function listen(server: Server, port = 0): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return (server.address() as AddressInfo).port;
}

/** HOST:PORT of a port that was free a moment ago and where nothing listens. */
export async function refusingUrl(): Promise<string> {
  const server = createServer();
  const port = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  return `127.0.0.1:${port}`;
}
