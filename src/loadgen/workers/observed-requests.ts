import type { ObservedRequest } from '../observed-transport.ts';
import type { OutputTensor, ReplyCheck, RequestParameter, RequestSet, RequestTensor, SendOutcome } from '../types.ts';

/** A request that a thread saw end, in what travels between threads: the request itself is known on both sides. */
export interface PackedObserved {
  readonly set: number;
  /** In the set. */
  readonly index: number;
  /** As it was sent: those of a sequence are not in the set. */
  readonly parameters: readonly RequestParameter[] | undefined;
  readonly startNs: number;
  readonly endNs: number;
  readonly outcome: SendOutcome;
  readonly outputs: readonly OutputTensor[];
}

/** Called with each request that ended, and the outputs of its reply where that is read. */
export type OnObserved = (observed: ObservedRequest, outputs: readonly OutputTensor[]) => void;

/** Keeps the requests of this thread that ended until they are taken. */
export class ObservedRequests {
  /** By their inputs, which a request of a sequence has in common with the one in the set that it is made of. */
  readonly #places = new Map<readonly RequestTensor[], { readonly set: number; readonly index: number }>();
  #outputs: readonly OutputTensor[] = [];
  #rows: PackedObserved[] = [];

  learn(set: number, { requests }: RequestSet): void {
    for (const [index, { inputs }] of requests.entries()) this.#places.set(inputs, { set, index });
  }

  /** A reply is looked at just before its request ends. What is read is a view of the socket's memory, which is too much to send. */
  readonly look: ReplyCheck = (_, outputs) => {
    this.#outputs = outputs.map((output) => ({ ...output, raw: new Uint8Array(output.raw) }));
    return null;
  };

  add({ request, ...rest }: ObservedRequest): void {
    const place = this.#places.get(request.inputs);
    if (place) this.#rows.push({ ...place, ...rest, parameters: request.parameters, outputs: this.#outputs });
    this.#outputs = [];
  }

  take(): readonly PackedObserved[] {
    const taken = this.#rows;
    this.#rows = [];
    return taken;
  }
}

/** Tells of the requests with what the set says of them. */
export function tellObserved(
  packed: readonly PackedObserved[],
  sets: readonly RequestSet[],
  onObserved: OnObserved,
): void {
  for (const { set, index, parameters, outputs, ...rest } of packed) {
    const request = sets[set]?.requests[index];
    if (request) onObserved({ request: { ...request, ...(parameters && { parameters }) }, ...rest }, outputs);
  }
}
