import { createServer } from 'node:net';
import { formatMessage } from '#base/errors.ts';

/** The loopback ports that a launched Triton listens on. */
export interface ServerPorts {
  readonly grpc: number;
  readonly http: number;
  readonly metrics: number;
}

const MAX_TRIES = 3;

/** How Node, Triton, and Docker say that a port is taken. */
const PORT_TAKEN = /EADDRINUSE|already in use|port is already allocated/i;

/**
 * Starts a server on free ports. If another process takes one of them before the server does, it is
 * started again on other ports. Errors: those of the last start.
 */
export async function startOnFreePorts<T>(start: (ports: ServerPorts) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    const [grpc, http, metrics] = (await freePorts(3)) as [number, number, number];
    try {
      return await start({ grpc, http, metrics });
    } catch (error) {
      if (tries === MAX_TRIES || !PORT_TAKEN.test(formatMessage(error))) throw error;
    }
  }
}

/** Returns `count` different loopback ports that were free a moment ago. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, () => listen()));
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

function listen(): Promise<ReturnType<typeof createServer>> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve(server));
  });
}
