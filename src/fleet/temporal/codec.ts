import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { TrituneError } from '#base/errors.ts';

/** The encoding in the metadata of payloads from this codec. */
const ENCODING = Buffer.from('binary/tritune');
const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Compression does not shorten texts below this size. */
const WORTH_COMPRESSING_BYTES = 256;
/** The maximum size of an unpacked payload: a hostile one must not fill the memory. */
const MAX_BYTES = 64 * 2 ** 20;

/**
 * Returns the codec for everything that goes through Temporal. It compresses, and encrypts with
 * AES-256-GCM if there is a key. With a key, it refuses payloads that are not encrypted with it.
 * Errors: INPUT_INVALID for a key of another length.
 */
export function fleetCodec(key: Uint8Array | null): PayloadCodec {
  if (key && key.length !== KEY_BYTES)
    throw new TrituneError(
      'INPUT_INVALID',
      `the payload key has ${key.length} bytes instead of ${KEY_BYTES}`,
      HOW_TO_MAKE_ONE,
    );
  return {
    encode: async (payloads) => payloads.map((payload) => encoded(payload, key)),
    decode: async (payloads) => payloads.map((payload) => decoded(payload, key)),
  };
}

export const HOW_TO_MAKE_ONE = 'make one: openssl rand -base64 32';

function encoded(payload: Payload, key: Uint8Array | null): Payload {
  const plain = packed(payload);
  const isCompressed = plain.length >= WORTH_COMPRESSING_BYTES;
  const body = isCompressed ? gzipSync(plain) : plain;
  const form = Buffer.from(`${isCompressed ? 'gzip' : 'plain'} ${key ? CIPHER : 'open'}`);
  return { metadata: { encoding: ENCODING, form }, data: key ? encrypted(body, key, form) : body };
}

function decoded(payload: Payload, key: Uint8Array | null): Payload {
  const { metadata, data } = payload;
  const isOurs = metadata?.encoding !== undefined && Buffer.from(metadata.encoding).equals(ENCODING);
  if (!isOurs) {
    if (key) throw new Error('a payload is not encrypted, and there is a key');
    return payload;
  }
  const form = Buffer.from(metadata?.form ?? []);
  const [compression, cipher] = form.toString().split(' ');
  if (key && cipher !== CIPHER) throw new Error('a payload is not encrypted, and there is a key');
  if (!key && cipher === CIPHER) throw new Error('a payload is encrypted: give the key of the fleet');
  const body = key ? decrypted(toBytes(data), key, form) : toBytes(data);
  return unpacked(compression === 'gzip' ? gunzipSync(body, { maxOutputLength: MAX_BYTES }) : Buffer.from(body));
}

/** Returns the nonce, the ciphertext and the tag. Also authenticates `form`. */
function encrypted(body: Uint8Array, key: Uint8Array, form: Uint8Array): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(form);
  return Buffer.concat([nonce, cipher.update(body), cipher.final(), cipher.getAuthTag()]);
}

function decrypted(data: Uint8Array, key: Uint8Array, form: Uint8Array): Buffer {
  if (data.length < NONCE_BYTES + TAG_BYTES) throw new Error('an encrypted payload is cut off');
  const decipher = createDecipheriv(CIPHER, key, data.subarray(0, NONCE_BYTES)).setAAD(form);
  decipher.setAuthTag(data.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(data.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
  } catch {
    throw new Error('a payload is encrypted with another key, or was changed');
  }
}

/** The SDK uses an empty array for missing data. */
const toBytes = (data: Payload['data']): Buffer => Buffer.from(data ?? []);

/** Returns the metadata as a line of JSON, followed by the data. */
function packed({ metadata, data }: Payload): Buffer {
  const names = Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value).toString('base64')]);
  return Buffer.concat([Buffer.from(`${JSON.stringify(Object.fromEntries(names))}\n`), toBytes(data)]);
}

function unpacked(plain: Buffer): Payload {
  const end = plain.indexOf('\n');
  const metadata = JSON.parse(plain.subarray(0, end).toString()) as Record<string, string>;
  const values = Object.entries(metadata).map(([name, value]) => [name, Buffer.from(value, 'base64')]);
  return { metadata: Object.fromEntries(values), data: plain.subarray(end + 1) };
}
