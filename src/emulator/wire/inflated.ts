import { gunzipSync, inflateSync } from 'node:zlib';
import { formatMessage } from '#base/errors.ts';
import { ProtocolFailure } from './protocol-failure.ts';

/** A few bytes can expand to any number of them. */
const MAX_INFLATED_BYTES = 2 ** 27;

/**
 * Returns the decompressed bytes. Throws INTERNAL if they are not compressed that way, or are too
 * long.
 */
export function inflated(bytes: Buffer, encoding: 'gzip' | 'deflate'): Buffer {
  const inflate = encoding === 'gzip' ? gunzipSync : inflateSync;
  try {
    return inflate(bytes, { maxOutputLength: MAX_INFLATED_BYTES });
  } catch (error) {
    throw new ProtocolFailure('INTERNAL', `failed to decompress the message: ${formatMessage(error)}`, {
      cause: error,
    });
  }
}
