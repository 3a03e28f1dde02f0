import type { ObservedRequest } from '../observed-transport.ts';
import type { ReplyOutputs, RequestParameter, RequestSet, RequestTensor, SendOutcome } from '../types.ts';

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
}

/** Called with each finished request, and with the outputs of its only reply. */
export type OnObserved = (observed: ObservedRequest, outputs: ReplyOutputs) => void;

/** Keeps this thread's finished requests until they are taken. */
export class ObservedRequests {
  /**
   * By their inputs, which a request of a sequence shares with the set's request that it is made
   * of.
   */
  readonly #places = new Map<readonly RequestTensor[], { readonly set: number; readonly index: number }>();
  #rows: PackedObserved[] = [];

  learn(set: number, { requests }: RequestSet): void {
    for (const [index, { inputs }] of requests.entries()) this.#places.set(inputs, { set, index });
  }

  add({ request, outcome, ...rest }: ObservedRequest): void {
    const place = this.#places.get(request.inputs);
    if (place) this.#rows.push({ ...place, ...rest, parameters: request.parameters, outcome: packed(outcome) });
  }

  take(): readonly PackedObserved[] {
    const taken = this.#rows;
    this.#rows = [];
    return taken;
  }
}

/**
 * Copies what is valid only now: the times of tokens, and outputs, which are views of the socket's
 * memory.
 */
function packed(outcome: SendOutcome): SendOutcome {
  if (!outcome.ok) return outcome;
  if (outcome.tokens) return { ...outcome, tokens: { ...outcome.tokens, gapsNs: [...outcome.tokens.gapsNs] } };
  if (!outcome.replies) return outcome;
  const copied = (outputs: ReplyOutputs): ReplyOutputs =>
    outputs.map((output) => ({ ...output, raw: new Uint8Array(output.raw) }));
  return { ...outcome, replies: outcome.replies.map(copied) };
}

function onlyReply({ outcome }: Pick<PackedObserved, 'outcome'>): ReplyOutputs {
  const [only, ...others] = (outcome.ok && outcome.replies) || [];
  return only && others.length === 0 ? only : [];
}

/** Reports the requests with the set's information about them. */
export function tellObserved(
  packed: readonly PackedObserved[],
  sets: readonly RequestSet[],
  onObserved: OnObserved,
): void {
  for (const { set, index, parameters, ...rest } of packed) {
    const request = sets[set]?.requests[index];
    if (request) onObserved({ request: { ...request, ...(parameters && { parameters }) }, ...rest }, onlyReply(rest));
  }
}
