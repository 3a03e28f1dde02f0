import { realClock } from '#base/clock.ts';
import { NS_PER_S } from '#base/units.ts';
import type { Flow } from '../flow.ts';
import type { Batch } from '../recorder.ts';
import type { SequenceRule } from '../sequences.ts';
import type { OpenOptions } from '../transports/open.ts';
import type { RequestSet } from '../types.ts';
import type { Workers } from '../workers/workers.ts';

/** Enough requests in flight that neither side waits for the other. */
const CONCURRENCY = 64;
/**
 * The first few hundred requests of a new thread take 33 to 64 us of CPU each. The steady cost
 * (gRPC 1 to 2 us, HTTP 7 to 9) is reached after 0.2 s or 10,000 requests over gRPC and after 0.25
 * to 0.3 s or 1,500 to 3,000 over HTTP (two runs each, two cores with other work).
 */
const WARM_UP_MS = 250;
const MEASURE_MS = 300;
const DRAIN_MS = 1000;

/** The load to measure. The null server supports neither TLS nor reply checks. */
export interface NullTraffic extends Pick<OpenOptions, 'streaming'> {
  readonly protocol: 'grpc' | 'http' | 'grpc-text' | 'events';
  readonly requests: RequestSet;
  readonly sequences?: SequenceRule | undefined;
}

/** Runs of the load generator's threads against a server that does nothing. */
export interface NullRuns {
  /**
   * Sends for a quarter of a second, so that the sending code is compiled before it is timed. Does
   * nothing if that is impossible.
   */
  warmUp(): Promise<void>;
  /**
   * Returns the requests per second that these threads reach here with these requests; null if it
   * could not be measured. The first call measures for about half a second, and the result is
   * remembered. The null server shares the machine, so the threads may be capable of somewhat more,
   * as they may next to a real server on the same machine.
   */
  ceiling(): Promise<number | null>;
}

/** Runs of these threads, which have nothing else in flight meanwhile. */
export function nullRuns(workers: Workers, traffic: NullTraffic): NullRuns {
  let ceiling: Promise<number | null> | undefined;
  return {
    async warmUp() {
      await sendToNull(workers, traffic, async () => null).catch(() => null);
    },
    ceiling() {
      ceiling ??= sendToNull(workers, traffic, readRate);
      return ceiling;
    },
  };
}

/**
 * Returns the result of `look` at the warm flow; null without a null server. Errors: CLIENT_FAILED.
 */
async function sendToNull(
  workers: Workers,
  { protocol, requests, sequences, streaming }: NullTraffic,
  look: (flow: Flow) => Promise<number | null>,
): Promise<number | null> {
  const server = await workers.startNullServer(streaming ? 'grpc-stream' : protocol).catch(() => null);
  if (server === null) return null;
  const ids = sequences ? sequences.ids.high - sequences.ids.low + 1 : CONCURRENCY;
  const level = { mode: 'concurrency', value: Math.min(CONCURRENCY, ids) } as const;
  try {
    const flow = workers.openFlow({ requests: unchecked(requests), sequences, level }, server.url);
    flow.start();
    // The answer arrives once the threads have begun, however long they take to start.
    await flow.takeTally();
    await realClock.sleep(WARM_UP_MS);
    const seen = await look(flow);
    await flow.drain(DRAIN_MS);
    flow.check();
    return seen;
  } finally {
    await workers.leaveNullServer().catch(() => undefined);
    await server.stop();
  }
}

async function readRate(flow: Flow): Promise<number | null> {
  let whole: Batch | undefined;
  flow.record({ lengthNs: Number.POSITIVE_INFINITY, minRequests: 1 }, (batch) => {
    whole = batch;
  });
  await realClock.sleep(MEASURE_MS);
  await flow.closeBatch();
  flow.stopRecording();
  return whole && whole.failed === 0 ? (whole.succeeded / (whole.endNs - whole.startNs)) * NS_PER_S : null;
}

/** The null server's replies do not match any model. */
const unchecked = (set: RequestSet): RequestSet => ({
  ...set,
  requests: set.requests.map(({ expected: _, ...request }) => request),
});
