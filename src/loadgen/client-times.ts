import type { ClientTimes } from './types.ts';

/** Sums over the timed requests. */
export interface ClientTimeSums extends ClientTimes {
  readonly requests: number;
}

const parts = ['marshalNs', 'sendNs', 'waitNs', 'receiveNs', 'unmarshalNs'] as const satisfies (keyof ClientTimes)[];

/**
 * Adds up the times of requests. The time before a sender hands a request to its transport counts
 * as marshalling, because it helps to make the request.
 */
export class ClientTimeSum implements ClientTimeSums {
  requests = 0;
  marshalNs = 0;
  sendNs = 0;
  waitNs = 0;
  receiveNs = 0;
  unmarshalNs = 0;

  /** `latencyNs`: that of the same request, as its sender saw it. */
  add(times: ClientTimes, latencyNs: number): void {
    const { marshalNs, sendNs, waitNs, receiveNs, unmarshalNs } = times;
    this.requests++;
    this.marshalNs += Math.max(marshalNs, latencyNs - sendNs - waitNs - receiveNs - unmarshalNs);
    this.sendNs += sendNs;
    this.waitNs += waitNs;
    this.receiveNs += receiveNs;
    this.unmarshalNs += unmarshalNs;
  }
}

/** Returns the sums of all, or undefined for none. */
export function allClientTimes(sums: readonly { readonly clientTimes?: ClientTimeSums }[]): ClientTimeSums | undefined {
  const all = sums.flatMap(({ clientTimes }) => clientTimes ?? []);
  if (all.length === 0) return undefined;
  const whole = new ClientTimeSum();
  for (const each of all) {
    whole.requests += each.requests;
    for (const part of parts) whole[part] += each[part];
  }
  return whole;
}
