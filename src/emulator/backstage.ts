import type { Server } from 'node:net';
import type { ServerMetadata } from '../triton/types.ts';
import type { Faults } from './faults.ts';
import type { LogSettings } from './log-settings.ts';
import type { ModelRepository } from './model-repository.ts';
import type { SharedMemoryRegistry } from './shared-memory.ts';
import type { TraceSettings } from './trace-settings.ts';

/** What both front ends answer from. */
export interface Backstage {
  readonly identity: ServerMetadata;
  readonly repository: ModelRepository;
  readonly faults: Faults;
  readonly sharedMemory: SharedMemoryRegistry;
  readonly traceSettings: TraceSettings;
  readonly logSettings: LogSettings;
  /** Ends everything at once, as if the process were killed. */
  crash(): void;
}

/** A listening front end. */
export interface Front {
  readonly port: number;
  /** Cuts all connections and frees the port. */
  close(): Promise<void>;
}

/** The port on which the server listens; rejects when the address is taken. */
export function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve((server.address() as { port: number }).port);
    });
  });
}
