import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openGrpcStream } from '#loadgen/transports/grpc-stream.ts';
import { openTransport } from '#loadgen/transports/open.ts';
import { readStreamReply } from '#loadgen/transports/stream-reply.ts';
import type { Transport } from '#loadgen/types.ts';
import { messageType } from '#triton/wire/proto.ts';
import { streamResponse } from '../support/infer-servers.ts';
import { h2Frame } from '../support/raw-h2.ts';
import {
  DATA,
  goAway,
  HEADERS,
  okHeaders,
  type Peer,
  RST_STREAM,
  type ScriptedServer,
  type Seen,
  startScripted,
  trailers,
  WINDOW_UPDATE,
} from '../support/scripted-h2.ts';
import { inferRequest, send, sendMany, until } from '../support/transport-suite.ts';

/**
 * A server that answers the n-th request of all, from 0, by these frames; each stream's first
 * answer begins with headers.
 */
async function answering(
  answer: (n: number, streamId: number, peer: Peer) => readonly Buffer[],
): Promise<{ server: ScriptedServer; open(timeoutMs?: number): Transport; count(type: number): number }> {
  let requests = 0;
  const begun = new Set<string>();
  const server = await startScripted({
    onFrame: (peer: Peer, { type, streamId }: Seen) => {
      if (type !== DATA) return;
      const stream = `${peer.index}/${streamId}`;
      const headers = begun.has(stream) ? [] : [okHeaders(streamId)];
      begun.add(stream);
      peer.write(...headers, ...answer(requests++, streamId, peer));
    },
  });
  onTestFinished(() => server.close());
  return {
    server,
    open: (timeoutMs = 5000) => {
      const transport = openGrpcStream({ url: server.url, timeoutMs });
      onTestFinished(() => transport.close());
      return transport;
    },
    count: (type) => server.peers.flatMap((peer) => peer.seen).filter((frame) => frame.type === type).length,
  };
}

const data = (streamId: number, ...messages: Buffer[]): Buffer => h2Frame(DATA, 0, streamId, Buffer.concat(messages));
const more = streamResponse({ isFinal: false });
const final = streamResponse({ isFinal: true });
const failure = streamResponse({ error: 'größe: asked to fail' });

describe('gRPC streams', () => {
  it('carry one request after another, each with its own number of responses', async () => {
    const { open, count } = await answering((n, id) => [data(id, ...Array<Buffer>(n).fill(more)), data(id, final)]);
    const transport = open();
    for (let n = 0; n < 6; n++) expect(await send(transport)).toMatchObject({ ok: true });
    expect(count(HEADERS)).toBe(1);
    expect(count(DATA)).toBe(6);
  });

  it('are as many as requests are in flight', async () => {
    const { open, count } = await answering((_, id) => [data(id, more, final)]);
    const transport = open();
    for (let round = 0; round < 3; round++) {
      expect(await sendMany(transport, inferRequest(16), 5)).toMatchObject(Array(5).fill({ ok: true }));
    }
    expect(count(HEADERS)).toBe(5);
  });

  it('are given up when nothing was sent for a while, and opened again: a server cannot unload a model that has one', async () => {
    const { open, count, server } = await answering((_, id) => [data(id, final)]);
    const transport = open();
    expect(await sendMany(transport, inferRequest(16), 2)).toMatchObject(Array(2).fill({ ok: true }));
    expect(count(RST_STREAM)).toBe(0);
    await until(() => count(RST_STREAM) === 2);
    expect(await send(transport)).toMatchObject({ ok: true });
    expect(count(HEADERS)).toBe(3);
    expect(server.connections()).toBe(1);
  });

  it('read responses however they are cut', async () => {
    const whole = Buffer.concat([more, streamResponse({ bodyBytes: 3000, isFinal: false }), final]);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: whole.length - 1 }), { maxLength: 30 }), async (cuts) => {
        const places = [0, ...cuts.sort((a, b) => a - b), whole.length];
        const pieces = places.slice(1).map((end, index) => whole.subarray(places[index], end));
        const { open, count } = await answering((_, id) => pieces.map((piece) => data(id, piece)));
        const transport = open();
        expect(await send(transport)).toMatchObject({ ok: true });
        expect(await send(transport)).toMatchObject({ ok: true });
        expect(count(HEADERS)).toBe(1);
      }),
      { numRuns: 20 },
    );
  });

  it('are given up after an error in words, and another takes the next request', async () => {
    const { open, count } = await answering((n, id) =>
      n === 0 ? [data(id, more, failure, final)] : [data(id, final)],
    );
    const transport = open();
    const failed = { ok: false, kind: 'status', status: 'STREAM_ERROR', message: 'größe: asked to fail' };
    expect(await send(transport)).toEqual(failed);
    expect(await send(transport)).toMatchObject({ ok: true });
    expect(count(HEADERS)).toBe(2);
    expect(count(RST_STREAM)).toBe(1);
  });

  it('time out without a final response, and what comes later is nobody else’s', async () => {
    const { open, server } = await answering((n, id) =>
      n === 0 ? [data(id, more)] : [data(1, final), data(id, more, final)],
    );
    const transport = open(150);
    expect(await send(transport)).toMatchObject({ ok: false, kind: 'timeout' });
    expect(await send(transport)).toMatchObject({ ok: true });
    expect(server.connections()).toBe(1);
  });

  it('are given up when the server speaks unasked', async () => {
    const { open, count } = await answering((_, id) => [data(id, final, final)]);
    const transport = open();
    for (let n = 0; n < 3; n++) expect(await send(transport)).toMatchObject({ ok: true });
    expect(count(HEADERS)).toBe(3);
  });

  it('end with what the server says when it ends them', async () => {
    const { open } = await answering((n, id) => {
      if (n === 0) return [data(id, more), trailers(id, '14')];
      if (n === 1) return [data(id, more), trailers(id, '0')];
      // After the reply: the stream is idle then.
      return [data(id, final), trailers(id, '0')];
    });
    const transport = open();
    expect(await send(transport)).toMatchObject({ ok: false, kind: 'status', status: 'UNAVAILABLE' });
    const early = { ok: false, kind: 'malformed', message: 'the stream ended before the final response' };
    expect(await send(transport)).toEqual(early);
    for (let n = 0; n < 3; n++) expect(await send(transport)).toMatchObject({ ok: true });
  });

  it('refuse what is no response, or is compressed', async () => {
    const answers = [Buffer.from([0, 0, 0, 0, 2, 0x12, 0x7f]), Buffer.from([1, 0, 0, 0, 1, 0])];
    const { open } = await answering((n, id) => [data(id, answers[n] ?? final)]);
    const transport = open();
    for (let n = 0; n < 2; n++) expect(await send(transport)).toMatchObject({ ok: false, kind: 'malformed' });
    expect(await send(transport)).toMatchObject({ ok: true });
  });

  it('leave a connection that the server wants to close', async () => {
    const { open, server } = await answering((n, id) => (n === 0 ? [data(id, final), goAway(id)] : [data(id, final)]));
    const transport = open();
    expect(await send(transport)).toMatchObject({ ok: true });
    await until(() => server.peers[0]?.socket.destroyed === true);
    expect(await send(transport)).toMatchObject({ ok: true });
    expect(server.connections()).toBe(2);
  });

  it('get their window back', async () => {
    const large = data(1, streamResponse({ bodyBytes: 16_000, isFinal: false }));
    const { open, server } = await answering((_, id) => [...Array<Buffer>(1100).fill(large), data(id, final)]);
    const transport = open();
    expect(await send(transport)).toMatchObject({ ok: true });
    await until(
      () => server.peers[0]?.seen.some((seen) => seen.type === WINDOW_UPDATE && seen.streamId === 1) === true,
    );
  });

  it('are not for HTTP', () => {
    const options = { url: 'localhost:1', timeoutMs: 1, streaming: true };
    expect(() => openTransport('http', options)).toThrow(expect.objectContaining({ code: 'USAGE' }));
  });
});

describe('readStreamReply', () => {
  it('agrees with the whole decoder', () => {
    const parameter = fc.oneof(
      fc.record({ bool_param: fc.boolean() }),
      fc.record({ string_param: fc.string() }),
      fc.record({ int64_param: fc.integer() }),
    );
    const names = fc.constantFrom('triton_final_response', 'other');
    const reply = fc.record(
      {
        error_message: fc.string({ minLength: 1 }),
        infer_response: fc.record({
          model_name: fc.string(),
          parameters: fc.dictionary(names, parameter),
          outputs: fc.array(fc.record({ name: fc.string(), datatype: fc.string() }), { maxLength: 3 }),
          raw_output_contents: fc.array(fc.uint8Array({ maxLength: 50 })),
        }),
      },
      { requiredKeys: [] },
    );
    const type = messageType('ModelStreamInferResponse');
    fc.assert(
      fc.property(reply, (fields) => {
        const read = readStreamReply(type.encode(type.fromObject(fields)).finish());
        const final = fields.infer_response?.parameters.triton_final_response as { bool_param?: boolean } | undefined;
        expect(read).toEqual({
          error: fields.error_message ?? '',
          isFinal: final?.bool_param === true,
          hasOutputs: (fields.infer_response?.outputs.length ?? 0) > 0,
        });
      }),
    );
  });
});
