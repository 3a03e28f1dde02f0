import type { WireHeader } from './wire.ts';

/** The name that a request gives its server, and its other headers. */
interface Addressed {
  /** HTTP/1.1's Host and HTTP/2's `:authority`; undefined if none of the headers states it. */
  readonly authority: string | undefined;
  readonly others: readonly WireHeader[];
}

/**
 * Splits the name of the server off the headers. A gateway before several services, such as Istio
 * or Knative, chooses one of them by that name.
 */
export function splitAuthority(headers: readonly WireHeader[]): Addressed {
  const stated = headers.find(({ name }) => name === 'host');
  return { authority: stated?.value, others: headers.filter((header) => header !== stated) };
}
