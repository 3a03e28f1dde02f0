import { createServer } from 'node:net';
import { type Front, listen } from './backstage.ts';
import type { Breakage } from './broken-connection.ts';
import { GrpcConnection } from './grpc-connection.ts';
import type { ProtocolFailure } from './protocol-failure.ts';

/** One call as its method sees it. After `end`, `fail` or a broken connection, everything else does nothing. */
export interface GrpcCall {
  /** By name, in lower case; of several with one name the last. */
  readonly headers: ReadonlyMap<string, string>;
  /** Sends one message of the answer. */
  send(message: Uint8Array): void;
  /** Ends the answer with status OK. */
  end(): void;
  fail(failure: ProtocolFailure): void;
  /** Breaks the connection that the call came by. */
  break(how: Breakage): void;
}

/** What a method does with a call: `message` for each message that comes, `done` when no more will. */
export interface CallTaker {
  message(bytes: Buffer): void;
  done(): void;
}

/** By the path on the wire. */
export type GrpcMethods = ReadonlyMap<string, (call: GrpcCall) => CallTaker>;

/**
 * A gRPC server on the HTTP/2 of the load generator: Node's own makes several objects that outlive many collections for
 * each call, and the pauses of the collector, of 4 to 8 ms at 5,000 calls a second, would be the slowest requests.
 * Messages of up to 2 GiB, gzip and deflate taken. Rejects when it cannot listen.
 */
export async function startGrpcServer(methods: GrpcMethods, host: string, port: number): Promise<Front> {
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
