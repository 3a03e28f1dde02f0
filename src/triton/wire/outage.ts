/** Triton's answer to every call while it stops or has not finished starting (2.51). */
const NOT_READY = /^Server not ready$/;

/** Gateways without a server behind them: Envoy's words, and the pages of nginx and others. */
const GATEWAY =
  /^<|no healthy upstream|^upstream connect error|service (temporarily )?unavailable|bad gateway|gateway time-?out/i;

/**
 * True if an answer says that nobody serves at the address now, whatever the request: the server is
 * being restarted, or a gateway waits for one. `status`: that of HTTP, or gRPC's name of it. A full
 * queue is none, though it has the same status.
 */
export function saysOutage(status: string | number, words: string): boolean {
  if (NOT_READY.test(words)) return true;
  switch (String(status)) {
    case '502':
    case '504':
      return true;
    case '503':
      return words === '' || GATEWAY.test(words);
    case 'UNAVAILABLE':
      return GATEWAY.test(words) || /^Received HTTP status code 50[234]/.test(words);
    default:
      return false;
  }
}
