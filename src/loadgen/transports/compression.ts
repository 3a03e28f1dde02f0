import { deflateSync, gzipSync } from 'node:zlib';
import type { Compression } from '../types.ts';

/**
 * Returns the compressed bytes in the coding that gRPC and HTTP mean by the name: 'deflate' is the
 * zlib format (RFC 1950), not raw deflate. Requests are compressed once, at zlib's default level.
 */
export function compressed(bytes: Uint8Array, compression: Compression): Buffer {
  return compression === 'gzip' ? gzipSync(bytes) : deflateSync(bytes);
}
