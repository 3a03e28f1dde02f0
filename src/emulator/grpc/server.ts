import { createServer } from 'node:net';
import { type ListeningFront, listen } from '../server-context.ts';
import { GrpcConnection } from './connection.ts';
import type { GrpcMethods } from './methods.ts';

/**
 * A gRPC server on the load generator's HTTP/2. Node's own HTTP/2 makes several long-lived objects
 * per call, and the collector's pauses of 4 to 8 ms at 5,000 calls a second would be the slowest
 * requests. Accepts messages of up to 2 GiB, gzip and deflate. Rejects if it cannot listen.
 */
export async function startGrpcServer(methods: GrpcMethods, host: string, port: number): Promise<ListeningFront> {
  const connections = new Set<GrpcConnection>();
  const listener = createServer((socket) => {
    socket.setNoDelay(true);
    const connection = new GrpcConnection(socket, methods);
    connections.add(connection);
    socket.once('close', () => connections.delete(connection));
  });
  const listening = await listen(listener, host, port);
  return {
    port: listening,
    close: async () => {
      const closed = new Promise<void>((resolve) => listener.close(() => resolve()));
      for (const connection of connections) connection.cut();
      await closed;
    },
  };
}
