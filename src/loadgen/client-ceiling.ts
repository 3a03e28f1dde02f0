import { realClock } from '../base/clock.ts';
import { NS_PER_S } from '../base/units.ts';
import { localFlow } from './flow.ts';
import { startNullServer } from './null-server.ts';
import type { Batch } from './recorder.ts';
import type { SequenceRule } from './sequences.ts';
import { type OpenOptions, openTransport } from './transports/open.ts';
import type { RequestSet } from './types.ts';

/** Enough in flight that neither side waits for the other. */
const CONCURRENCY = 64;
const WARM_UP_MS = 100;
const MEASURE_MS = 300;
const DRAIN_MS = 1000;
const TIMEOUT_MS = 2000;

/** What is sent besides the tensors, and how. TLS and the checking of replies are beyond the null server. */
export interface CeilingKind extends Pick<OpenOptions, 'streaming' | 'compression' | 'tensorFormat' | 'headers'> {
  readonly sequences?: SequenceRule | undefined;
}

/**
 * Requests per second that this client reaches here with these requests against a server that does nothing, measured when
 * it is first asked for, in about half a second, and then remembered; null when it could not be measured. The null server
 * shares the machine, so the client may be capable of somewhat more, as it may beside a real server on the same machine.
 */
export function clientCeiling(
  protocol: 'grpc' | 'http',
  requests: RequestSet,
  kind: CeilingKind = {},
): () => Promise<number | null> {
  let ceiling: Promise<number | null> | undefined;
  return () => {
    ceiling ??= measureClientCeiling(protocol, requests, kind);
    return ceiling;
  };
}

async function measureClientCeiling(
  protocol: 'grpc' | 'http',
  requests: RequestSet,
  { sequences, ...kind }: CeilingKind,
): Promise<number | null> {
  const server = await startNullServer(kind.streaming ? 'grpc-stream' : protocol).catch(() => null);
  if (server === null) return null;
  const transport = openTransport(protocol, { ...kind, url: server.url, timeoutMs: TIMEOUT_MS });
  const ids = sequences ? sequences.ids.high - sequences.ids.low + 1 : CONCURRENCY;
  const level = { mode: 'concurrency', value: Math.min(CONCURRENCY, ids) } as const;
  try {
    const flow = localFlow({ requests: unchecked(requests), sequences, level }, { transport, clock: realClock });
    flow.start();
    await realClock.sleep(WARM_UP_MS);
    let whole: Batch | undefined;
    flow.record({ lengthNs: Number.POSITIVE_INFINITY, minRequests: 1 }, (batch) => {
      whole = batch;
    });
    await realClock.sleep(MEASURE_MS);
    await flow.closeBatch();
    flow.stopRecording();
    await flow.drain(DRAIN_MS);
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
