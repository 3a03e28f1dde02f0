import type { PreparedRequest, ReplyCheck, Transport } from './types.ts';

/** Returns a transport whose requests fail if their replies do not pass the check. The other transport must read replies. */
export function checkedTransport<P extends PreparedRequest>(transport: Transport<P>, check: ReplyCheck): Transport<P> {
  return {
    prepare: (request) => transport.prepare(request),
    send: (prepared, done) =>
      transport.send(prepared, (outcome) =>
        done(outcome.ok ? (check(prepared.request, outcome.replies ?? []) ?? outcome) : outcome),
      ),
    close: () => transport.close(),
  };
}
