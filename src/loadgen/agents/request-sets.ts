import { createHash } from 'node:crypto';
import { TrituneError } from '#base/errors.ts';
import type { RequestSet } from '../types.ts';
import { decodeMessage, encodeMessage } from './codec.ts';

/** A set of requests as bytes, with their SHA-256. */
export interface EncodedSet {
  readonly hash: string;
  readonly bytes: Uint8Array;
}

const hashBytes = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

export function encodeSet(requests: RequestSet): EncodedSet {
  const bytes = encodeMessage(requests);
  return { hash: hashBytes(bytes), bytes };
}

/** Assembles a set that arrives in pieces. */
export class IncomingSet {
  readonly hash: string;
  readonly bytes: number;
  readonly #bytes: Uint8Array;
  #filled = 0;

  constructor(hash: string, bytes: number) {
    this.hash = hash;
    this.bytes = bytes;
    this.#bytes = new Uint8Array(bytes);
  }

  /**
   * Returns the set with its last piece, and null before that. Errors: AGENT_FAILED if the bytes do
   * not match the hash.
   */
  add(piece: Uint8Array): RequestSet | null {
    if (this.#filled + piece.length > this.#bytes.length) throw damaged();
    this.#bytes.set(piece, this.#filled);
    this.#filled += piece.length;
    if (this.#filled < this.#bytes.length) return null;
    if (hashBytes(this.#bytes) !== this.hash) throw damaged();
    const set = decodeMessage(this.#bytes) as Partial<RequestSet> | null;
    if (!Array.isArray(set?.requests) || set.requests.length === 0) throw damaged();
    return set as RequestSet;
  }
}

const damaged = (): TrituneError =>
  new TrituneError(
    'AGENT_FAILED',
    'a set of requests arrived damaged',
    'install the same version of tritune on both machines',
  );
