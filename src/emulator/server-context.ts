import type { Server } from 'node:net';
import type { ServerMetadata } from '#triton/types.ts';
import type { Faults } from './faults.ts';
import type { LogSettings } from './log-settings.ts';
import type { ModelRepository } from './models/model-repository.ts';
import type { EmulatedTraceSettings } from './trace-settings.ts';
import type { SharedMemoryRegistry } from './wire/shared-memory.ts';

/** The state that the gRPC and the HTTP front end share. */
export interface ServerContext {
  readonly identity: ServerMetadata;
  readonly repository: ModelRepository;
  readonly faults: Faults;
  readonly sharedMemory: SharedMemoryRegistry;
  readonly traceSettings: EmulatedTraceSettings;
  readonly logSettings: LogSettings;
  /** Ends the server at once, as if its process were killed. */
  crash(): void;
}

/** A listening front end. */
export interface ListeningFront {
  readonly port: number;
  /** Closes all connections and frees the port. */
  close(): Promise<void>;
}

/** Listens and returns the port; rejects if the address is taken. */
export function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve((server.address() as { port: number }).port);
    });
  });
}
