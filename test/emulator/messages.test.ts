import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { framed, MessageCutter } from '#emulator/grpc/messages.ts';

const messages = [Buffer.from('one'), Buffer.alloc(0), Buffer.from('a longer third one')];

function packed(message: Buffer): Buffer {
  const bytes = framed(gzipSync(message));
  bytes[0] = 1;
  return bytes;
}

/** Cuts the bytes at these places, and returns what the cutter makes of the pieces. */
function messagesOf(bytes: Buffer, places: readonly number[]): string[] {
  const found: string[] = [];
  const cutter = new MessageCutter('gzip', (message) => found.push(message.toString()));
  let from = 0;
  for (const to of [...places, bytes.length]) {
    cutter.push(bytes.subarray(from, to));
    from = to;
  }
  return found;
}

describe('messages of a gRPC call', () => {
  // A busy server reads many calls at a time, and the end of a read falls anywhere.
  it.each([
    ['plain', framed],
    ['compressed', packed],
  ] as const)('are the same wherever reads end, %s', (_, frame) => {
    const bytes = Buffer.concat(messages.map(frame));
    const expected = messages.map(String);
    for (let first = 0; first <= bytes.length; first++) {
      expect(messagesOf(bytes, [first]), `cut at ${first}`).toEqual(expected);
      for (let second = first; second <= bytes.length; second++) {
        expect(messagesOf(bytes, [first, second]), `cut at ${first} and ${second}`).toEqual(expected);
      }
    }
  });
});
