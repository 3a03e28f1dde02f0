import { type Part, whole } from './pacing/part.ts';
import type { InferRequest, PreparedRequest, RequestSet, Transport } from './types.ts';

/**
 * Encodes every request of the set once, and gives them in turn, over and over: no memory and no work per request. A part
 * gives every `of`-th of that endless row, from number `index` on.
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
