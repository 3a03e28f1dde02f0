import type { ObservedRequest } from '../observed-transport.ts';
import type { OutputTensor, ReplyCheck, RequestParameter, RequestSet, RequestTensor, SendOutcome } from '../types.ts';

/** A finished request as sent between threads: both sides know the request itself. */
export interface PackedObserved {
  readonly set: number;
  /** Index in the set. */
  readonly index: number;
  /** As sent: those of a sequence are not in the set. */
  readonly parameters: readonly RequestParameter[] | undefined;
  readonly startNs: number;
  readonly endNs: number;
  readonly outcome: SendOutcome;
  readonly outputs: readonly OutputTensor[];
}

/** Called with each finished request, and with the outputs of its reply if they are read. */
export type OnObserved = (observed: ObservedRequest, outputs: readonly OutputTensor[]) => void;

/** Keeps this thread's finished requests until they are taken. */
export class ObservedRequests {
  /** By their inputs, which a request of a sequence shares with the set's request that it is made of. */
  readonly #places = new Map<readonly RequestTensor[], { readonly set: number; readonly index: number }>();
  #outputs: readonly OutputTensor[] = [];
  #rows: PackedObserved[] = [];

  learn(set: number, { requests }: RequestSet): void {
    for (const [index, { inputs }] of requests.entries()) this.#places.set(inputs, { set, index });
  }

  /** A reply is checked just before its request ends. Its outputs are views of the socket's memory, which is too large to send. */
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

/** Reports the requests with the set's information about them. */
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
