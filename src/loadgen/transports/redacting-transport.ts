import { secretsOut } from '#base/secrets.ts';
import type { PreparedRequest, RequestHeader, Transport } from '../types.ts';

/**
 * Wraps a transport so that no failure message repeats the value of a header: failure messages are
 * printed and stored.
 */
export function redacting<P extends PreparedRequest>(
  transport: Transport<P>,
  headers: readonly RequestHeader[],
): Transport<P> {
  const cleared = secretsOut(headers);
  return {
    prepare: (request) => transport.prepare(request),
    send: (prepared, done) =>
      transport.send(prepared, (outcome) =>
        done(outcome.ok ? outcome : { ...outcome, message: cleared(outcome.message) }),
      ),
    close: () => transport.close(),
  };
}
