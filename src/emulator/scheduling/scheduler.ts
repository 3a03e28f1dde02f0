import type { Batcher } from '../../queueing/batcher.ts';
import type { Execution } from '../../queueing/execution.ts';
import type { SequenceMark } from './sequence-mark.ts';

/** What puts the requests of a model version on its instances: the dynamic batcher's seam, with sequences. */
export interface Scheduler extends Pick<Batcher, 'complete' | 'wake' | 'setInstances'> {
  /** Throws a ProtocolFailure when the request cannot be taken; then it is not queued. */
  arrive(nowNs: number, requestId: number, samples: number, sequence: SequenceMark | null): void;
  takeStarted(): Execution | undefined;
  readonly nextWakeNs: number;
  readonly waitingRequests: number;
  readonly busyInstances: number;
}
