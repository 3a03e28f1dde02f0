import { type Part, whole } from './paced-part.ts';
import type { InferRequest, PreparedRequest, RequestSet, Transport } from './types.ts';

/**
 * Encodes every request of the set once and returns them in turn, repeatedly, without memory or
 * work per request. A part returns every `of`-th request of that endless sequence, from number
 * `index` on.
 */
export function requestCycle<P extends PreparedRequest>(
  transport: Transport<P>,
  { requests }: RequestSet,
  { index, of }: Part = whole,
): () => P {
  const turns = requests.length / commonDivisor(requests.length, of);
  const prepared = Array.from({ length: turns }, (_, turn) =>
    transport.prepare(requests[(index + turn * of) % requests.length] as InferRequest),
  );
  let at = -1;
  return () => {
    at = at + 1 === turns ? 0 : at + 1;
    return prepared[at] as P;
  };
}

const commonDivisor = (a: number, b: number): number => (b === 0 ? a : commonDivisor(b, a % b));
