import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { openGrpcLean } from '#loadgen/transports/grpc-lean.ts';
import type { LeanOptions } from '#loadgen/transports/h2-connections.ts';
import type { SendOutcome, Transport } from '#loadgen/types.ts';
import { h2Frame } from '../support/raw-h2.ts';
import * as h2 from '../support/scripted-h2.ts';
import { inferRequest, send, sendMany, until } from '../support/transport-suite.ts';

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

async function start(script: h2.Script): Promise<h2.ScriptedServer> {
  const server = await h2.startScripted(script);
  cleanUps.push(server.close);
  return server;
}

function open(url: string, options: Partial<LeanOptions> = {}): Transport {
  const transport = openGrpcLean({ url, timeoutMs: 10_000, ...options });
  cleanUps.unshift(() => transport.close());
  return transport;
}

const good = (count: number): SendOutcome[] => Array<SendOutcome>(count).fill({ ok: true });
const framesOf = (peer: h2.Peer | undefined, type: number): h2.Seen[] =>
  (peer?.seen ?? []).filter((frame) => frame.type === type);
const dataBytes = (peer: h2.Peer | undefined): number =>
  framesOf(peer, h2.DATA).reduce((sum, frame) => sum + frame.length, 0);

/** The framed message, as the transport prepares it. */
const bodyOf = (transport: Transport, size: number): Buffer =>
  (transport.prepare(inferRequest(size)) as unknown as { body: Buffer }).body;

describe('our HTTP/2 client, what it sends', () => {
  it('waits for the settings of the server before its first request', async () => {
    const server = await start({ ...h2.answering, greeting: Buffer.alloc(0) });
    const outcome = send(open(server.url));
    await until(() => framesOf(server.peers[0], h2.SETTINGS).length === 1);
    expect(framesOf(server.peers[0], h2.HEADERS)).toEqual([]);
    server.peers[0]?.write(h2.settingsFrame());
    expect(await outcome).toEqual({ ok: true });
  });

  it('names its headers by their index from the second request on', async () => {
    const server = await start(h2.answering);
    const transport = open(server.url);
    for (let round = 0; round < 5; round++) await send(transport);
    const [first, ...later] = framesOf(server.peers[0], h2.HEADERS).map((frame) => frame.length);
    expect(first).toBeGreaterThan(80);
    expect(later).toEqual([7, 7, 7, 7]);
  });

  it('acknowledges settings and pings, and takes acknowledgements in', async () => {
    const opaque = Buffer.from('12345678');
    const server = await start({
      onFrame(peer, frame) {
        if (!h2.endsRequest(frame)) return;
        peer.write(h2.settingsFrame([3, 7]), h2Frame(h2.SETTINGS, 1, 0), h2Frame(h2.PING, 0, 0, opaque));
        peer.write(h2Frame(h2.PING, 1, 0, opaque), h2.okResponse(frame.streamId));
      },
    });
    expect(await send(open(server.url))).toEqual({ ok: true });
    await until(() => framesOf(server.peers[0], h2.PING).length === 1);
    expect(framesOf(server.peers[0], h2.PING)[0]).toMatchObject({ flags: 1, payload: opaque });
    expect(framesOf(server.peers[0], h2.SETTINGS).filter((frame) => frame.flags === 1).length).toBe(2);
  });

  it('stops at the window of the stream and goes on when it grows', async () => {
    const server = await start({ ...h2.answering, greeting: h2.settingsFrame([4, 100]) });
    const outcome = send(open(server.url), 1000);
    const peer = (): h2.Peer | undefined => server.peers[0];
    await until(() => dataBytes(peer()) === 100);
    peer()?.write(h2.windowUpdate(1, 250));
    await until(() => dataBytes(peer()) === 350);
    peer()?.write(h2.windowUpdate(1, 100_000));
    expect(await outcome).toEqual({ ok: true });
  });

  it('stops at the window of the connection, and shares what it gets', async () => {
    const server = await start({ ...h2.answering, greeting: h2.settingsFrame([4, 1_000_000]) });
    const outcomes = sendMany(open(server.url), inferRequest(50_000), 4);
    const peer = (): h2.Peer | undefined => server.peers[0];
    await until(() => dataBytes(peer()) === 65_535);
    peer()?.write(h2.windowUpdate(0, 40_000));
    await until(() => dataBytes(peer()) === 105_535);
    peer()?.write(h2.windowUpdate(0, 1_000_000));
    expect(await outcomes).toEqual(good(4));
  });

  it('follows an initial window that shrinks below what is sent, and grows again', async () => {
    const server = await start({ ...h2.answering, greeting: h2.settingsFrame([4, 100]) });
    const outcome = send(open(server.url), 1000);
    const peer = (): h2.Peer | undefined => server.peers[0];
    await until(() => dataBytes(peer()) === 100);
    // 50 less than was sent: the next 60 open a window of 10.
    peer()?.write(h2.settingsFrame([4, 50]), h2.windowUpdate(1, 60));
    await until(() => dataBytes(peer()) === 110);
    peer()?.write(h2.settingsFrame([4, 10_000]));
    expect(await outcome).toEqual({ ok: true });
  });

  it.each([
    [16_384, h2.settingsFrame([4, 60_000])],
    [20_000, h2.settingsFrame([4, 60_000], [5, 20_000])],
  ])('sends frames of at most %d bytes where that is the limit', async (limit, greeting) => {
    const server = await start({ ...h2.answering, greeting });
    expect(await send(open(server.url), 55_000)).toEqual({ ok: true });
    const lengths = framesOf(server.peers[0], h2.DATA).map((frame) => frame.length);
    expect(lengths.slice(0, -1)).toEqual(Array(lengths.length - 1).fill(limit));
    expect(Math.max(...lengths)).toBe(limit);
  });

  it('sends what it was given, however slowly the server reads', async () => {
    const wide = Buffer.concat([h2.settingsFrame([4, 2 ** 31 - 1]), h2.windowUpdate(0, 2 ** 30)]);
    const bodies: Buffer[] = [];
    const server = await start({
      greeting: wide,
      onFrame(peer, frame) {
        if (frame.type === h2.SETTINGS && frame.flags === 1) peer.socket.pause();
        if (!h2.endsRequest(frame)) return;
        bodies.push(frame.payload);
        peer.write(h2.okResponse(frame.streamId));
      },
    });
    const transport = open(server.url);
    const outcomes: Promise<SendOutcome[]>[] = [sendMany(transport, inferRequest(12_000), 1)];
    await until(() => server.peers[0]?.socket.isPaused() === true);
    // More than the kernel takes (some megabytes), in many turns, copied bodies and such as are too
    // long for it.
    const sizes = Array.from({ length: 200 }, (_, turn) => (turn % 10 === 0 ? 12_000 : 4000 + turn));
    for (const size of sizes) {
      outcomes.push(sendMany(transport, inferRequest(size), 10));
      await setImmediate();
    }
    server.peers[0]?.socket.resume();
    expect((await Promise.all(outcomes)).flat()).toEqual(good(2001));
    const text = (body: Buffer): string => body.toString('latin1');
    expect(new Set(bodies.map(text))).toEqual(new Set(sizes.map((size) => text(bodyOf(transport, size)))));
  });

  it('gives the window of the connection back', async () => {
    const megabyte = Buffer.alloc(1024 * 1024);
    const total = 17 * megabyte.length;
    const prefix = Buffer.concat([Buffer.of(0), h2.uint32(total)]);
    const server = await start({
      onFrame(peer, frame) {
        if (!h2.endsRequest(frame)) return;
        const { streamId } = frame;
        peer.write(h2.okHeaders(streamId), h2Frame(h2.DATA, 0, streamId, prefix));
        for (let at = 0; at < total; at += megabyte.length) peer.write(h2Frame(h2.DATA, 0, streamId, megabyte));
        peer.write(h2.trailers(streamId));
      },
    });
    expect(await send(open(server.url))).toEqual({ ok: true });
    await until(() => framesOf(server.peers[0], h2.WINDOW_UPDATE).length === 2);
    const [, given] = framesOf(server.peers[0], h2.WINDOW_UPDATE);
    expect(given?.payload.readUInt32BE()).toBe(16 * megabyte.length + 5);
  });

  it('tells the server of a request that it gives up, and overlooks the late answer', async () => {
    let late: (() => void) | undefined;
    const server = await start({
      onFrame(peer, frame) {
        if (frame.type === h2.PING) peer.write(h2Frame(h2.PING, 1, 0, frame.payload));
        if (!h2.endsRequest(frame)) return;
        if (late) peer.write(h2.okResponse(frame.streamId));
        else late = () => peer.write(h2.okResponse(frame.streamId));
      },
    });
    // Long enough for the second request on a machine that stands still for a moment.
    const transport = open(server.url, { timeoutMs: 500 });
    expect(await send(transport)).toMatchObject({ kind: 'timeout' });
    await until(() => framesOf(server.peers[0], h2.RST_STREAM).length === 1);
    expect(framesOf(server.peers[0], h2.RST_STREAM)[0]).toMatchObject({ streamId: 1, payload: h2.uint32(8) });
    late?.();
    expect(await send(transport)).toEqual({ ok: true });
    expect(server.connections()).toBe(1);
  });

  it('leaves a connection on which a ping stays unanswered', async () => {
    const server = await start({
      onFrame(peer, frame) {
        if (peer.index > 0 && h2.endsRequest(frame)) peer.write(h2.okResponse(frame.streamId));
      },
    });
    const transport = open(server.url, { timeoutMs: 80 });
    expect(await send(transport)).toMatchObject({ kind: 'timeout' });
    expect(await send(transport)).toMatchObject({ kind: 'timeout' });
    await until(() => framesOf(server.peers[0], h2.PING).length === 1);
    let last = await send(transport);
    for (let round = 0; round < 20 && !last.ok; round++) last = await send(transport);
    expect(last).toEqual({ ok: true });
    expect(server.connections()).toBe(2);
  });
});

describe('our HTTP/2 client, connections', () => {
  it('keeps to the limit of streams and opens more connections instead', async () => {
    const held: (() => void)[] = [];
    const server = await start({
      greeting: h2.settingsFrame([3, 4]),
      onFrame(peer, frame) {
        if (h2.endsRequest(frame)) held.push(() => peer.write(h2.okResponse(frame.streamId)));
      },
    });
    const outcomes = sendMany(open(server.url), inferRequest(16), 10);
    await until(() => held.length === 10);
    expect(server.peers.map((peer) => framesOf(peer, h2.HEADERS).length)).toEqual([4, 4, 2]);
    for (const answer of held) answer();
    expect(await outcomes).toEqual(good(10));
  });

  it('waits while it may open no stream at all', async () => {
    const server = await start({ ...h2.answering, greeting: h2.settingsFrame([3, 0]) });
    const outcome = send(open(server.url));
    await until(() => framesOf(server.peers[0], h2.SETTINGS).length === 2);
    server.peers[0]?.write(h2.settingsFrame([3, 1]));
    expect(await outcome).toEqual({ ok: true });
    expect(server.connections()).toBe(1);
  });

  it('spreads requests over as many connections as it is told', async () => {
    const held: (() => void)[] = [];
    const server = await start({
      onFrame(peer, frame) {
        if (h2.endsRequest(frame)) held.push(() => peer.write(h2.okResponse(frame.streamId)));
      },
    });
    const transport = open(server.url, { connections: 3 });
    const early = sendMany(transport, inferRequest(16), 1);
    await until(() => held.length === 1 && server.peers.every((peer) => framesOf(peer, h2.SETTINGS).length === 2));
    const outcomes = sendMany(transport, inferRequest(16), 8);
    await until(() => held.length === 9);
    expect(server.peers.map((peer) => framesOf(peer, h2.HEADERS).length)).toEqual([3, 3, 3]);
    for (const answer of held) answer();
    expect([...(await early), ...(await outcomes)]).toEqual(good(9));
  });

  it('finishes what a GOAWAY leaves, and sends the rest anew', async () => {
    const requests: h2.Seen[] = [];
    const server = await start({
      onFrame(peer, frame) {
        if (!h2.endsRequest(frame)) return;
        requests.push(frame);
        if (peer.index > 0) peer.write(h2.okResponse(frame.streamId));
        else if (requests.length === 5) peer.write(h2.goAway(3), h2.okResponse(1), h2.okResponse(3));
      },
    });
    expect(await sendMany(open(server.url), inferRequest(16), 5)).toEqual(good(5));
    expect(server.peers.map((peer) => framesOf(peer, h2.HEADERS).length)).toEqual([5, 3]);
  });

  it('opens a new connection when stream ids run out', async () => {
    const server = await start(h2.answering);
    const transport = open(server.url, { firstStreamId: 2 ** 31 - 5 });
    for (let round = 0; round < 7; round++) expect(await send(transport)).toEqual({ ok: true });
    expect(server.peers.map((peer) => framesOf(peer, h2.HEADERS).length)).toEqual([3, 3, 1]);
    const ids = framesOf(server.peers[0], h2.HEADERS).map((frame) => frame.streamId);
    expect(ids).toEqual([2 ** 31 - 5, 2 ** 31 - 3, 2 ** 31 - 1]);
  });

  it('follows a server without a header table', async () => {
    const server = await start({ ...h2.answering, greeting: h2.settingsFrame([1, 0]) });
    const transport = open(server.url);
    for (let round = 0; round < 3; round++) expect(await send(transport)).toEqual({ ok: true });
    const lengths = framesOf(server.peers[0], h2.HEADERS).map((frame) => frame.length);
    expect(Math.min(...lengths)).toBeGreaterThan(80);
  });

  it('does not hammer a server that always turns it away', async () => {
    const server = await start({
      onFrame(peer, frame) {
        if (frame.type === h2.HEADERS) peer.write(h2.goAway(0));
      },
    });
    expect(await send(open(server.url, { timeoutMs: 300 }))).toMatchObject({ kind: 'timeout' });
    expect(server.connections()).toBeLessThan(20);
  });
});
