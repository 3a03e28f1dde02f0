/** The moments of a request that Triton's trace mode records, in chronological order. */
const momentNames = [
  ...['HTTP_RECV_START', 'HTTP_RECV_END', 'GRPC_WAITREAD_START', 'GRPC_WAITREAD_END'],
  ...['REQUEST_START', 'QUEUE_START', 'CACHE_HIT_LOOKUP_START', 'CACHE_HIT_LOOKUP_END'],
  ...['COMPUTE_START', 'COMPUTE_INPUT_END', 'COMPUTE_OUTPUT_START', 'COMPUTE_END'],
  ...['CACHE_MISS_INSERTION_START', 'CACHE_MISS_INSERTION_END', 'INFER_RESPONSE_COMPLETE', 'REQUEST_END'],
  ...['HTTP_SEND_START', 'HTTP_SEND_END', 'GRPC_SEND_START', 'GRPC_SEND_END'],
] as const;
const knownMoments: ReadonlySet<string> = new Set(momentNames);

/**
 * Returns the name of a moment; null if unknown. Older servers wrote them as `http recv start`,
 * `grpc wait/read end`, `request handler start`, `compute input end` (documentation and tracer of
 * 19.10 to 20.x).
 */
export function parseMoment(written: string): string | null {
  if (knownMoments.has(written)) return written;
  const name = written.toUpperCase().replace('REQUEST HANDLER', 'REQUEST').replace('/', '').replaceAll(' ', '_');
  return knownMoments.has(name) ? name : null;
}
