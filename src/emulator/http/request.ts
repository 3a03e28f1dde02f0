import type { IncomingMessage } from 'node:http';
import { nestsDeeperThan } from '#base/json.ts';
import { inflated } from '../wire/inflated.ts';
import { ProtocolFailure } from '../wire/protocol-failure.ts';

/**
 * The maximum nesting of a body's JSON: tensors have a few levels, and code that walks it recurses
 * once per level.
 */
const MAX_LEVELS = 100;
/** The same limit as over gRPC. */
const MAX_BODY_BYTES = 2 ** 31 - 1;

/** Reads the body to its end; cuts the connection if it exceeds the maximum message length. */
export function readBody(request: IncomingMessage, done: (body: Buffer) => void): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) request.socket.destroy();
    else chunks.push(chunk);
  });
  request.on('end', () => done(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
  request.on('error', () => request.socket.destroy());
}

/**
 * Returns the body without the compression that its header names. Throws INTERNAL if it is not
 * compressed that way.
 */
export function plainBody(body: Buffer, encoding: string | undefined): Buffer {
  return encoding === 'gzip' || encoding === 'deflate' ? inflated(body, encoding) : body;
}

/** Returns a decoded part of a path. Throws INVALID_ARGUMENT for broken escapes. */
export function pathSegment(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    throw new ProtocolFailure('INVALID_ARGUMENT', `the path holds a broken escape: ${text}`, { cause: error });
  }
}

/**
 * Returns the object or list in a body. Throws INTERNAL for anything else, and for deeper nesting
 * than any request has.
 */
export function parseBodyJson(body: Buffer): { readonly [key: string]: unknown } {
  try {
    const json: unknown = JSON.parse(body.toString('utf8'));
    if (json !== null && typeof json === 'object' && !nestsDeeperThan(MAX_LEVELS, json))
      return json as { readonly [key: string]: unknown };
  } catch {
    // Reported below, with the message for everything that is not a JSON object.
  }
  throw new ProtocolFailure('INTERNAL', 'failed to parse the request JSON buffer');
}

/** Triton's message about a value of another type. */
export const notA = (type: string): ProtocolFailure =>
  new ProtocolFailure('INTERNAL', `attempt to access JSON non-${type} as ${type}`);

/** Returns the text in a field. Throws INTERNAL for anything else. */
export function textIn(value: unknown): string {
  if (typeof value !== 'string') throw notA('string');
  return value;
}

/** Returns the list in a field. Throws INTERNAL for anything else. */
export function listIn(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw notA('array');
  return value;
}

/** Returns the count in a field, such as a number of bytes. Throws INTERNAL for anything else. */
export function countIn(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) throw notA('unsigned-integer');
  return value;
}
