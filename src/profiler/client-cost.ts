import { monitorEventLoopDelay } from 'node:perf_hooks';
import { NS_PER_MS } from '../base/units.ts';

const RESOLUTION_MS = 5;

/** What the load generator itself costs, so that a reader can tell whether the client was the limit. */
export interface ClientCost {
  /** CPU time of this process since the start, in microseconds. */
  cpuUs(): number;
  /** The longest that the event loop kept a due timer waiting since the start, in milliseconds. */
  eventLoopDelayMs(): number;
  stop(): void;
}

export function watchClientCost(): ClientCost {
  const before = process.cpuUsage();
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  return {
    cpuUs: () => {
      const used = process.cpuUsage(before);
      return used.user + used.system;
    },
    // Node reports the time between two ticks of its own timer, the timer's interval included.
    eventLoopDelayMs: () => (delays.count === 0 ? 0 : Math.max(0, delays.max / NS_PER_MS - RESOLUTION_MS)),
    stop: () => {
      delays.disable();
    },
  };
}
