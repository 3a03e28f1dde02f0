import type { PreparedRequest, RequestSet, Transport } from './types.ts';

/** Encodes every request of the set once, and gives them in turn, over and over: no memory and no work per request. */
export function requestCycle<P extends PreparedRequest>(transport: Transport<P>, set: RequestSet): () => P {
  const prepared = set.requests.map((request) => transport.prepare(request));
  let at = -1;
  return () => {
    at = at + 1 === prepared.length ? 0 : at + 1;
    return prepared[at] as P;
  };
}
