import { secretsOut } from '../../base/secrets.ts';
import type { PreparedRequest, RequestHeader, Transport } from '../types.ts';

/** The transport, of whose failures no message repeats the value of a header: they are printed and kept. */
export function discreet<P extends PreparedRequest>(
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
