import { deflateSync, gzipSync } from 'node:zlib';
import type { Compression } from '../types.ts';

/**
 * The bytes as the coding's name means them, to gRPC and HTTP alike: 'deflate' is the zlib format (RFC 1950), not the bare
 * one. Requests are compressed once, so the effort is zlib's usual one.
 */
export function compressed(bytes: Uint8Array, compression: Compression): Buffer {
  return compression === 'gzip' ? gzipSync(bytes) : deflateSync(bytes);
}
