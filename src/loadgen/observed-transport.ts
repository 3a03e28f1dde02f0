import type { Clock } from '#base/clock.ts';
import type { InferRequest, PreparedRequest, SendOutcome, Transport } from './types.ts';

/** A finished request, for an observer of all requests. */
export interface ObservedRequest {
  readonly request: InferRequest;
  readonly startNs: number;
  readonly endNs: number;
  readonly outcome: SendOutcome;
}

/** Returns a transport that reports every finished request to `onRequest` before the sender. */
export function observedTransport<P extends PreparedRequest>(
  transport: Transport<P>,
  clock: Clock,
  onRequest: (observed: ObservedRequest) => void,
): Transport<P> {
  return {
    prepare: (request) => transport.prepare(request),
    send(prepared, done) {
      const startNs = clock.nowNs();
      transport.send(prepared, (outcome) => {
        onRequest({ request: prepared.request, startNs, endNs: clock.nowNs(), outcome });
        done(outcome);
      });
    },
    close: () => transport.close(),
  };
}
