import type { Socket } from 'node:net';
import { FrameReader, type FrameSink } from '#http2/frame-reader.ts';
import { grpcFrame, inferResponse } from './infer-servers.ts';
import { type MisbehavingServer, startRaw } from './misbehaving-server.ts';
import { h2Frame } from './raw-h2.ts';

const PREFACE_BYTES = 24;

export const DATA = 0;
export const HEADERS = 1;
export const RST_STREAM = 3;
export const SETTINGS = 4;
export const PING = 6;
export const GOAWAY = 7;
export const WINDOW_UPDATE = 8;
export const CONTINUATION = 9;

/** A frame from the client. */
export interface Seen {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly length: number;
  readonly payload: Buffer;
}

/** One connection of a scripted server. */
export interface Peer {
  readonly index: number;
  readonly socket: Socket;
  readonly seen: Seen[];
  write(...frames: Buffer[]): void;
}

export interface ScriptedServer extends MisbehavingServer {
  readonly peers: readonly Peer[];
}

export interface Script {
  /** Said as soon as a client connects; an empty SETTINGS frame if not given. */
  readonly greeting?: Buffer;
  /** Called with every frame of the client. */
  onFrame?(peer: Peer, frame: Seen): void;
}

/** An HTTP/2 server that does only what the script says. */
export async function startScripted(script: Script): Promise<ScriptedServer> {
  const peers: Peer[] = [];
  const server = await startRaw((socket, index) => {
    peers.push(serve(socket, index, script));
  });
  return { ...server, peers };
}

function serve(socket: Socket, index: number, script: Script): Peer {
  const seen: Seen[] = [];
  const peer: Peer = { index, socket, seen, write: (...frames) => void socket.write(Buffer.concat(frames)) };
  const note = (frame: Seen): void => {
    seen.push(frame);
    script.onFrame?.(peer, frame);
  };
  let pieces: Buffer[] = [];
  const sink: FrameSink = {
    data: (_, bytes, start, end) => void pieces.push(Buffer.from(bytes.subarray(start, end))),
    dataEnd(streamId, flags, length) {
      const payload = Buffer.concat(pieces);
      pieces = [];
      note({ type: DATA, flags, streamId, length, payload });
    },
    frame(type, flags, streamId, payload, start, end) {
      note({ type, flags, streamId, length: end - start, payload: Buffer.from(payload.subarray(start, end)) });
    },
  };
  const reader = new FrameReader(sink);
  let skip = PREFACE_BYTES;
  socket.on('data', (chunk) => {
    const skipped = Math.min(skip, chunk.length);
    skip -= skipped;
    reader.push(chunk.subarray(skipped), chunk.length - skipped);
  });
  socket.on('end', () => socket.end());
  socket.write(script.greeting ?? h2Frame(SETTINGS, 0, 0));
  return peer;
}

/** True for the frame with which a request is complete. */
export const endsRequest = (frame: Seen): boolean => frame.type === DATA && (frame.flags & 1) !== 0;

export function settingsFrame(...pairs: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(pairs.length * 6);
  pairs.forEach(([id, value], index) => {
    payload.writeUInt16BE(id, index * 6);
    payload.writeUInt32BE(value, index * 6 + 2);
  });
  return h2Frame(SETTINGS, 0, 0, payload);
}

export function windowUpdate(streamId: number, bytes: number): Buffer {
  return h2Frame(WINDOW_UPDATE, 0, streamId, uint32(bytes));
}

export function goAway(lastId: number, code = 0): Buffer {
  return h2Frame(GOAWAY, 0, 0, Buffer.concat([uint32(lastId), uint32(code)]));
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** A literal field that no table remembers. */
export function field(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.of(0, name.length), Buffer.from(name), Buffer.of(value.length), Buffer.from(value)]);
}

/** `:status 200`, which is one byte in HPACK. */
export const STATUS_200 = Buffer.of(0x88);
export const okHeaders = (streamId: number): Buffer => h2Frame(HEADERS, 0x4, streamId, STATUS_200);
export const okMessage = (streamId: number): Buffer => h2Frame(DATA, 0, streamId, grpcFrame(inferResponse(8)));
export const trailers = (streamId: number, status = '0'): Buffer =>
  h2Frame(HEADERS, 0x5, streamId, field('grpc-status', status));
export const okResponse = (streamId: number): Buffer =>
  Buffer.concat([okHeaders(streamId), okMessage(streamId), trailers(streamId)]);

/** A script that answers every request well. */
export const answering: Script = {
  onFrame(peer, frame) {
    if (endsRequest(frame)) peer.write(okResponse(frame.streamId));
  },
};
