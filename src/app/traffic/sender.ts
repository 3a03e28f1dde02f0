import { openAlarm } from '#base/alarm.ts';
import { MS_PER_S } from '#base/units.ts';
import type { Workers } from '#loadgen/workers/workers.ts';
import type { Sending } from '#profiler/play.ts';

/**
 * The longest time for a request with one reply that is not written piece by piece, unless the user
 * gives another.
 */
export const REPLY_TIMEOUT_MS = 30 * MS_PER_S;

/** Sends one kind of request to one server; open for many levels. */
export interface Sender {
  readonly sending: Sending;
  /** Closes the sockets, and frees shared memory. */
  close(): Promise<void>;
}

/** Only the threads send; this thread never does. */
const nothingHere: Sending['transport'] = {
  prepare: (request) => ({ request }),
  send: () => undefined,
  close: () => Promise.resolve(),
};

/** Returns a sender over threads alone. `more`: what else its levels take. */
export function threadSender(workers: Workers, more: Partial<Sending> = {}): Sender {
  const alarm = openAlarm();
  return {
    sending: {
      transport: nothingHere,
      openFlow: (order) => workers.openFlow(order),
      watchClient: workers.watchClient,
      alarm,
      ...more,
    },
    close: async () => {
      await alarm.close();
      await workers.close();
    },
  };
}
