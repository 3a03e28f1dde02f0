/**
 * The lowest HTTP status of a reply that blames the client or the server (RFC 9110, section 15).
 */
const MIN_FAULT = 400;

/**
 * True for the status of a reply that refuses its request. Such a reply is whole, but not good,
 * however fast it came.
 */
export const isRefusal = (status: number): boolean => status >= MIN_FAULT;
