import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

/** What a server does to a client once the client has said something. */
export type Misbehaviour = 'silent' | 'reset' | 'half-close' | 'close' | 'garbage';

export interface MisbehavingServer {
  readonly url: string;
  /** Connections accepted so far. */
  connections(): number;
  close(): Promise<void>;
}

/** A TCP server that accepts, says `greeting` and then misbehaves at the client's first bytes. */
export function startMisbehaving(misbehaviour: Misbehaviour, greeting?: Uint8Array): Promise<MisbehavingServer> {
  return startRaw((socket) => {
    if (greeting) socket.write(greeting);
    socket.once('data', () => misbehave(socket, misbehaviour));
  });
}

function misbehave(socket: Socket, misbehaviour: Misbehaviour): void {
  socket.resume();
  if (misbehaviour === 'reset') socket.resetAndDestroy();
  if (misbehaviour === 'half-close') socket.end();
  if (misbehaviour === 'close') socket.destroy();
  if (misbehaviour === 'garbage') socket.write(Buffer.alloc(64 * 1024, 'no protocol that anybody speaks '));
}

/** A TCP server whose every connection is given to `serve`; socket errors are ignored. */
export async function startRaw(serve: (socket: Socket, index: number) => void): Promise<MisbehavingServer> {
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    serve(socket, connections++);
  });
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
