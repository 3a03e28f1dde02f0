import { createServer, type Http2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FrameReader, type FrameSink } from '#http2/frame-reader.ts';
import { ProtocolError } from '#http2/frames.ts';
import { HpackDecoder } from '#http2/hpack-decoder.ts';
import { RequestHeaders } from '#loadgen/transports/h2-request-headers.ts';
import { h2Frame, rawH2Get } from '../support/raw-h2.ts';

const hex = (text: string): Buffer => Buffer.from(text.replace(/\s/g, ''), 'hex');

function decoded(decoder: HpackDecoder, block: Buffer): string[] {
  const fields: string[] = [];
  decoder.decode(block, 0, block.length, { field: (name, value) => fields.push(`${name}: ${value}`) });
  return fields;
}

describe('HPACK decoder', () => {
  it('decodes the response examples of RFC 7541, C.5: a table that evicts', () => {
    // The RFC uses a table of 256 bytes; the size update in front says so.
    const decoder = new HpackDecoder();
    const first = hex(`3fe101 4803 333032 5807 7072 6976 6174 65 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a
      3133 3a32 3120 474d 54 6e17 6874 7470 733a 2f2f 7777 772e 6578 616d 706c 652e 636f 6d`);
    expect(decoded(decoder, first)).toEqual([
      ':status: 302',
      'cache-control: private',
      'date: Mon, 21 Oct 2013 20:13:21 GMT',
      'location: https://www.example.com',
    ]);
    expect(decoded(decoder, hex('4803 3330 37c1 c0bf'))).toEqual([
      ':status: 307',
      'cache-control: private',
      'date: Mon, 21 Oct 2013 20:13:21 GMT',
      'location: https://www.example.com',
    ]);
    // :status 302 had to go to make room, so the table ends at index 65.
    expect(decoded(decoder, hex('be'))).toEqual([':status: 307']);
    expect(() => decoded(decoder, hex('c2'))).toThrow(ProtocolError);
  });

  it('decodes the Huffman-coded response example of RFC 7541, C.6', () => {
    const block = hex(`4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d
      29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3`);
    expect(decoded(new HpackDecoder(), block)).toEqual([
      ':status: 302',
      'cache-control: private',
      'date: Mon, 21 Oct 2013 20:13:21 GMT',
      'location: https://www.example.com',
    ]);
  });

  it('decodes whatever nghttp2 encodes, block after block', async () => {
    const value = fc.stringMatching(/^[!-~]([ -~]{0,60}[!-~])?$/);
    const name = fc.stringMatching(/^x-[a-z0-9-]{1,20}$/);
    const blocks = fc.array(fc.dictionary(name, value, { maxKeys: 12 }), { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(blocks, async (headers) => {
        const server = createServer();
        let next = 0;
        server.on('stream', (stream) => stream.respond({ ':status': 200, ...headers[next++] }, { endStream: true }));
        const port = await listening(server);
        const decoder = new HpackDecoder();
        const seen = (await rawH2Get(port, headers.length)).map((block) => decoded(decoder, block));
        await new Promise((resolve) => server.close(resolve));
        expect(seen.map(withoutDate)).toEqual(headers.map((fields) => withoutDate(namedFields(fields))));
      }),
      { numRuns: 12 },
    );
  });

  it('decodes every byte that a Huffman-coded value can carry', async () => {
    const values = Array.from({ length: 256 }, (_, byte) => byte).filter((byte) => byte >= 0x20 && byte !== 0x7f);
    const text = `a${String.fromCharCode(...values)}b`;
    const server = createServer();
    server.on('stream', (stream) => stream.respond({ ':status': 200, 'x-all': text }, { endStream: true }));
    const port = await listening(server);
    const [block] = await rawH2Get(port, 1);
    await new Promise((resolve) => server.close(resolve));
    expect(decoded(new HpackDecoder(), block as Buffer)).toContain(`x-all: ${text}`);
  });

  it.each([
    ['an index beyond the table', 'be'],
    ['index zero', '80'],
    ['a string that is longer than the block', '400a 6162'],
    ['an integer without its end', 'ff ff'],
    ['an absurd integer', 'ff ff ff ff ff ff ff ff 7f'],
    ['a table larger than we allow', '3f e2 1f'],
    ['a size update behind a field', '88 20'],
    ['EOS in a Huffman string', '00 84 ff ff ff fc 00'],
    ['zeros as padding', '00 81 18 00'],
    ['padding of a whole byte', '00 82 1f ff 00'],
  ])('refuses %s', (_, block) => {
    expect(() => decoded(new HpackDecoder(), hex(block))).toThrow(ProtocolError);
  });

  it('fails with a ProtocolError or not at all, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        try {
          decoded(new HpackDecoder(), Buffer.from(bytes));
        } catch (error) {
          expect(error).toBeInstanceOf(ProtocolError);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

const fields = [
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/some/long/path'],
  [':authority', 'localhost:1'],
  ['te', 'trailers'],
] as const;
const lines = fields.map(([name, value]) => `${name}: ${value}`);

describe('request headers', () => {
  it('say everything once, and then a byte a field', () => {
    const headers = new RequestHeaders(fields);
    const decoder = new HpackDecoder();
    const first = headers.next();
    expect(decoded(decoder, first)).toEqual(lines);
    for (let round = 0; round < 3; round++) {
      const block = headers.next();
      expect(block.length).toBe(fields.length);
      expect(decoded(decoder, block)).toEqual(lines);
    }
  });

  it.each([0, 64, 1000])('follow a peer that shrinks its table to %d bytes', (bytes) => {
    const headers = new RequestHeaders(fields);
    const decoder = new HpackDecoder();
    decoded(decoder, headers.next());
    headers.peerTableSize(bytes);
    for (let round = 0; round < 3; round++) expect(decoded(decoder, headers.next())).toEqual(lines);
  });

  it('stay within a table that is as large as ever', () => {
    const headers = new RequestHeaders(fields);
    headers.peerTableSize(65_536);
    const decoder = new HpackDecoder();
    for (let round = 0; round < 3; round++) expect(decoded(decoder, headers.next())).toEqual(lines);
  });
});

/** Notes frames; DATA as one piece whatever the pieces were. */
class Notes implements FrameSink {
  readonly seen: string[] = [];
  #data = '';

  frame(type: number, flags: number, streamId: number, payload: Buffer, start: number, end: number): void {
    this.seen.push(`${type} ${flags} ${streamId} ${payload.toString('hex', start, end)}`);
  }

  data(_: number, bytes: Buffer, start: number, end: number): void {
    this.#data += bytes.toString('hex', start, end);
  }

  dataEnd(streamId: number, flags: number, length: number): void {
    this.seen.push(`data ${flags} ${streamId} ${length} ${this.#data}`);
    this.#data = '';
  }
}

const anyFrame = fc.oneof(
  fc
    .record({ type: fc.integer({ min: 1, max: 20 }), payload: fc.uint8Array({ maxLength: 700 }) })
    .map(({ type, payload }) => ({
      bytes: h2Frame(type, 5, 7, payload),
      note: `${type} 5 7 ${Buffer.from(payload).toString('hex')}`,
    })),
  fc.uint8Array({ maxLength: 700 }).map((payload) => ({
    bytes: h2Frame(0, 1, 9, payload),
    note: `data 1 9 ${payload.length} ${Buffer.from(payload).toString('hex')}`,
  })),
  fc
    .record({ payload: fc.uint8Array({ maxLength: 300 }), padding: fc.integer({ min: 0, max: 255 }) })
    .map(({ payload, padding }) => ({
      bytes: h2Frame(0, 8, 11, Uint8Array.of(padding, ...payload, ...new Uint8Array(padding))),
      note: `data 8 11 ${1 + payload.length + padding} ${Buffer.from(payload).toString('hex')}`,
    })),
);

describe('frame reader', () => {
  it('gives the same frames however the bytes are cut', () => {
    fc.assert(
      fc.property(
        fc.array(anyFrame, { maxLength: 12 }),
        fc.infiniteStream(fc.integer({ min: 1, max: 400 })),
        (all, cuts) => {
          const bytes = Buffer.concat(all.map((frame) => frame.bytes));
          const notes = new Notes();
          const reader = new FrameReader(notes);
          const lent = Buffer.alloc(400);
          for (let at = 0; at < bytes.length; ) {
            const piece = Math.min(cuts.next().value as number, bytes.length - at);
            bytes.copy(lent, 0, at, at + piece);
            reader.push(lent, piece);
            at += piece;
          }
          expect(notes.seen).toEqual(all.map((frame) => frame.note));
        },
      ),
      { numRuns: 300 },
    );
  });

  it.each([
    ['a frame that is longer than we allow', Buffer.from('200000 01 04 00000001'.replace(/ /g, ''), 'hex')],
    ['padding that is longer than its frame', h2Frame(0, 8, 1, Uint8Array.of(3, 0, 0))],
    ['padding without its length', h2Frame(0, 8, 1, new Uint8Array(0))],
  ])('refuses %s', (_, bytes) => {
    expect(() => new FrameReader(new Notes()).push(bytes, bytes.length)).toThrow(ProtocolError);
  });
});

async function listening(server: Http2Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

function namedFields(fields: Record<string, string>): string[] {
  return [':status: 200', ...Object.entries(fields).map(([name, value]) => `${name}: ${value}`)];
}

const withoutDate = (fields: readonly string[]): string[] => fields.filter((field) => !field.startsWith('date: '));
