import type { Batcher } from '#queueing/batcher.ts';
import type { Execution } from '#queueing/execution.ts';
import type { SequenceMark } from './sequence-mark.ts';

/**
 * Assigns the requests of a model version to its instances: the dynamic batcher's interface, with
 * sequences.
 */
export interface Scheduler extends Pick<Batcher, 'complete' | 'wake' | 'setInstances'> {
  /** Throws a ProtocolFailure if the request cannot be accepted; then it is not queued. */
  arrive(nowNs: number, requestId: number, samples: number, sequence: SequenceMark | null): void;
  takeStarted(): Execution | undefined;
  readonly nextWakeNs: number;
  readonly waitingRequests: number;
  readonly busyInstances: number;
}
