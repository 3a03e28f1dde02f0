import { realClock } from '../base/clock.ts';
import { NS_PER_S } from '../base/units.ts';
import { ClosedLoop } from './closed-loop.ts';
import { startNullServer } from './null-server.ts';
import { type Batch, Recorder } from './recorder.ts';
import { requestCycle } from './request-cycle.ts';
import { openTransport } from './transports/open.ts';
import type { RequestSet } from './types.ts';

/** Enough in flight that neither side waits for the other. */
const CONCURRENCY = 64;
const WARM_UP_MS = 100;
const MEASURE_MS = 300;
const DRAIN_MS = 1000;
const TIMEOUT_MS = 2000;

/**
 * Requests per second that this client reaches here with these requests against a server that does nothing, measured when
 * it is first asked for, in about half a second, and then remembered; null when it could not be measured. The null server
 * shares the machine, so the client may be capable of somewhat more, as it may beside a real server on the same machine.
 */
export function clientCeiling(protocol: 'grpc' | 'http', requests: RequestSet): () => Promise<number | null> {
  let ceiling: Promise<number | null> | undefined;
  return () => {
    ceiling ??= measureClientCeiling(protocol, requests);
    return ceiling;
  };
}

async function measureClientCeiling(protocol: 'grpc' | 'http', requests: RequestSet): Promise<number | null> {
  const server = await startNullServer(protocol).catch(() => null);
  if (server === null) return null;
  const transport = openTransport(protocol, { url: server.url, timeoutMs: TIMEOUT_MS });
  const recorder = new Recorder();
  try {
    const loop = new ClosedLoop(transport, requestCycle(transport, unchecked(requests)), recorder, realClock);
    loop.setConcurrency(CONCURRENCY);
    await realClock.sleep(WARM_UP_MS);
    let whole: Batch | undefined;
    recorder.start({ lengthNs: Number.POSITIVE_INFINITY, minRequests: 1 }, (batch) => {
      whole = batch;
    });
    await realClock.sleep(MEASURE_MS);
    recorder.closeNow(realClock.nowNs());
    recorder.stop();
    await loop.drain(DRAIN_MS);
    return whole && whole.failed === 0 ? (whole.succeeded / (whole.endNs - whole.startNs)) * NS_PER_S : null;
  } finally {
    await transport.close();
    await server.stop();
  }
}

/** The null server's replies are no model's. */
const unchecked = (set: RequestSet): RequestSet => ({
  ...set,
  requests: set.requests.map(({ expected: _, ...request }) => request),
});
