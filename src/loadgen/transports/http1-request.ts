import { splitAuthority } from '#triton/wire/authority.ts';
import type { RequestHeader } from '../types.ts';

/** A request before encoding. */
export interface Http1Request {
  readonly method: string;
  /** HOST:PORT as the server knows itself, unless a header states another. */
  readonly host: string;
  /** Path and query. */
  readonly target: string;
  /** Headers other than Content-Length. */
  readonly headers: readonly RequestHeader[];
  /** null: a request without a body or a content length. */
  readonly body: Uint8Array | null;
}

/**
 * Returns head and body in wire form (RFC 9112, section 3). Names and values must be valid there.
 */
export function requestBytes({ method, host, target, headers, body }: Http1Request): Buffer {
  const { authority = host, others } = splitAuthority(headers);
  const head = [
    `${method} ${target} HTTP/1.1`,
    `Host: ${authority}`,
    ...others.map(({ name, value }) => `${name}: ${value}`),
    ...(body === null ? [] : [`Content-Length: ${body.byteLength}`]),
    '\r\n',
  ].join('\r\n');
  return Buffer.concat([Buffer.from(head, 'latin1'), body ?? new Uint8Array(0)]);
}
