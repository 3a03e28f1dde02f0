import type { HttpReply } from './types.ts';

/** Times of one kind, in nanoseconds; zeros for none. */
export interface TimeSpread {
  readonly count: number;
  readonly sumNs: number;
  readonly minNs: number;
  readonly maxNs: number;
}

/**
 * Replies over plain HTTP: statuses, bytes, and the times of the parts of each exchange. Plain data
 * that can be sent between threads.
 */
export interface ReplyTally {
  /** Replies by their status code. */
  readonly statuses: ReadonlyMap<number, number>;
  /** Bytes of all bodies, without heads and framing. */
  readonly bodyBytes: number;
  /** Times of name resolution, for new connections. */
  readonly lookup: TimeSpread;
  /** Times until new connections can be written to: name resolution, TCP and TLS. */
  readonly connect: TimeSpread;
  /** From the writing of a request to the first byte of its reply, and from there to the last. */
  readonly wait: TimeSpread;
  readonly read: TimeSpread;
}

const NONE: TimeSpread = { count: 0, sumNs: 0, minNs: Number.POSITIVE_INFINITY, maxNs: 0 };

/** Counts replies as they arrive; allocates only when a status occurs for the first time. */
export class ReplyCounter {
  readonly #statuses = new Map<number, number>();
  #bodyBytes = 0;
  readonly #lookup = { ...NONE };
  readonly #connect = { ...NONE };
  readonly #wait = { ...NONE };
  readonly #read = { ...NONE };

  add({ status, bodyBytes, waitNs, readNs, lookupsNs, connectsNs }: HttpReply): void {
    this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
    this.#bodyBytes += bodyBytes;
    record(this.#wait, waitNs);
    record(this.#read, readNs);
    for (const ns of lookupsNs) record(this.#lookup, ns);
    for (const ns of connectsNs) record(this.#connect, ns);
  }

  get tally(): ReplyTally {
    return {
      statuses: this.#statuses,
      bodyBytes: this.#bodyBytes,
      lookup: this.#lookup,
      connect: this.#connect,
      wait: this.#wait,
      read: this.#read,
    };
  }
}

function record(spread: { -readonly [K in keyof TimeSpread]: TimeSpread[K] }, ns: number): void {
  spread.count++;
  spread.sumNs += ns;
  if (ns < spread.minNs) spread.minNs = ns;
  if (ns > spread.maxNs) spread.maxNs = ns;
}

/** Returns the replies of all batches together; undefined if no batch counts replies. */
export function allReplies(batches: readonly { readonly replies?: ReplyTally }[]): ReplyTally | undefined {
  const tallies = batches.flatMap(({ replies }) => replies ?? []);
  if (tallies.length === 0) return undefined;
  const statuses = new Map<number, number>();
  for (const tally of tallies) {
    for (const [status, count] of tally.statuses) statuses.set(status, (statuses.get(status) ?? 0) + count);
  }
  const together = (name: 'lookup' | 'connect' | 'wait' | 'read'): TimeSpread =>
    tallies.map((tally) => tally[name]).reduce(merged, NONE);
  return {
    statuses,
    bodyBytes: tallies.reduce((sum, { bodyBytes }) => sum + bodyBytes, 0),
    lookup: together('lookup'),
    connect: together('connect'),
    wait: together('wait'),
    read: together('read'),
  };
}

const merged = (one: TimeSpread, other: TimeSpread): TimeSpread => ({
  count: one.count + other.count,
  sumNs: one.sumNs + other.sumNs,
  minNs: Math.min(one.minNs, other.minNs),
  maxNs: Math.max(one.maxNs, other.maxNs),
});
