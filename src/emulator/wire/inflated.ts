import { gunzipSync, inflateSync } from 'node:zlib';
import { messageOf } from '../../base/errors.ts';
import { ProtocolFailure } from './protocol-failure.ts';

/** A few bytes can stand for any number of them. */
const MOST_INFLATED_BYTES = 2 ** 27;

/** Returns the bytes that were packed. Throws INTERNAL for what is not packed so, or is too long. */
export function inflated(bytes: Buffer, encoding: 'gzip' | 'deflate'): Buffer {
  const inflate = encoding === 'gzip' ? gunzipSync : inflateSync;
  try {
    return inflate(bytes, { maxOutputLength: MOST_INFLATED_BYTES });
  } catch (error) {
    throw new ProtocolFailure('INTERNAL', `failed to decompress the message: ${messageOf(error)}`, { cause: error });
  }
}
