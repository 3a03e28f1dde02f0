/** The parts of HTTP/2 framing (RFC 9113) that gRPC needs. */

export const FRAME_HEADER_BYTES = 9;

export const DATA = 0x0;
export const HEADERS = 0x1;
export const RST_STREAM = 0x3;
export const SETTINGS = 0x4;
export const PUSH_PROMISE = 0x5;
export const PING = 0x6;
export const GOAWAY = 0x7;
export const WINDOW_UPDATE = 0x8;
export const CONTINUATION = 0x9;

/** Flags. The same bit is END_STREAM on DATA and HEADERS and ACK on SETTINGS and PING. */
export const END_STREAM = 0x1;
export const ACK = 0x1;
export const END_HEADERS = 0x4;
export const PADDED = 0x8;
export const PRIORITY = 0x20;

export const SETTINGS_HEADER_TABLE_SIZE = 0x1;
export const SETTINGS_ENABLE_PUSH = 0x2;
export const SETTINGS_MAX_CONCURRENT_STREAMS = 0x3;
export const SETTINGS_INITIAL_WINDOW_SIZE = 0x4;
export const SETTINGS_MAX_FRAME_SIZE = 0x5;
export const SETTINGS_MAX_HEADER_LIST_SIZE = 0x6;

/** Values until a SETTINGS frame changes them. */
export const DEFAULT_WINDOW = 65_535;
export const DEFAULT_MAX_FRAME = 16_384;
export const DEFAULT_TABLE_SIZE = 4096;
export const MAX_WINDOW = 0x7fff_ffff;
export const MAX_FRAME_LIMIT = 0xff_ffff;
export const MAX_STREAM_ID = 0x7fff_ffff;

/** The maximum length of a frame to us: large responses arrive in few pieces. */
export const OUR_MAX_FRAME = 1024 * 1024;
/** The maximum length of a header block that we accept, in bytes as received. */
export const MAX_HEADER_BLOCK = 64 * 1024;

const errorNames = [
  'NO_ERROR',
  'PROTOCOL_ERROR',
  'INTERNAL_ERROR',
  'FLOW_CONTROL_ERROR',
  'SETTINGS_TIMEOUT',
  'STREAM_CLOSED',
  'FRAME_SIZE_ERROR',
  'REFUSED_STREAM',
  'CANCEL',
  'COMPRESSION_ERROR',
  'CONNECT_ERROR',
  'ENHANCE_YOUR_CALM',
  'INADEQUATE_SECURITY',
  'HTTP_1_1_REQUIRED',
] as const;

export type ErrorName = (typeof errorNames)[number];

export const errorCode = (name: ErrorName): number => errorNames.indexOf(name);
export const errorName = (code: number): string => errorNames[code] ?? `error ${code}`;

/** The peer broke HTTP/2. The connection cannot continue; `code` is for the GOAWAY frame. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
  readonly code: ErrorName;

  constructor(code: ErrorName, message: string) {
    super(message);
    this.code = code;
  }
}

export function protocolError(message: string): ProtocolError {
  return new ProtocolError('PROTOCOL_ERROR', message);
}

/** Errors: ProtocolError if a payload's length is wrong for its type. */
export function checkLength(bytes: number, start: number, end: number): void {
  if (end - start !== bytes) throw new ProtocolError('FRAME_SIZE_ERROR', `${end - start} bytes in place of ${bytes}`);
}

/** The first bytes of a client, before any frame. */
export const CLIENT_MAGIC: Buffer = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

/** Returns one whole frame (RFC 9113, 4.1). */
export function frame(type: number, flags: number, streamId: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.alloc(FRAME_HEADER_BYTES + payload.byteLength);
  bytes.writeUIntBE(payload.byteLength, 0, 3);
  bytes[3] = type;
  bytes[4] = flags;
  bytes.writeUInt32BE(streamId, 5);
  bytes.set(payload, FRAME_HEADER_BYTES);
  return bytes;
}

function uint32s(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, index) => {
    bytes.writeUInt32BE(value, index * 4);
  });
  return bytes;
}

/**
 * Returns a side's first frames. Our windows have the maximum size from the start, so that nothing
 * ever waits for us: data is processed at once and dropped.
 */
function firstFrames(settings: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(settings.length * 6);
  for (const [index, [id, value]] of settings.entries()) {
    payload.writeUInt16BE(id, index * 6);
    payload.writeUInt32BE(value, index * 6 + 2);
  }
  return Buffer.concat([frame(SETTINGS, 0, 0, payload), windowUpdateFrame(MAX_WINDOW - DEFAULT_WINDOW)]);
}

const ourLimits = [
  [SETTINGS_INITIAL_WINDOW_SIZE, MAX_WINDOW],
  [SETTINGS_MAX_FRAME_SIZE, OUR_MAX_FRAME],
  [SETTINGS_MAX_HEADER_LIST_SIZE, MAX_HEADER_BLOCK],
] as const;

/** Returns the first bytes that a client sends. */
export const clientPreface = (): Buffer =>
  Buffer.concat([CLIENT_MAGIC, firstFrames([[SETTINGS_ENABLE_PUSH, 0], ...ourLimits])]);

/** Returns the first bytes that a server sends, which need not wait for the client's. */
export const serverPreface = (): Buffer => firstFrames(ourLimits);

/** Enlarges the peer's window of a stream, or of the connection for stream 0. */
export const windowUpdateFrame = (bytes: number, streamId = 0): Buffer =>
  frame(WINDOW_UPDATE, 0, streamId, uint32s(bytes));
export const settingsAckFrame = (): Buffer => frame(SETTINGS, ACK, 0, new Uint8Array(0));
export const pingFrame = (): Buffer => frame(PING, 0, 0, new Uint8Array(8));
export const pingAckFrame = (opaque: Uint8Array): Buffer => frame(PING, ACK, 0, opaque);
export const rstStreamFrame = (streamId: number, code: ErrorName): Buffer =>
  frame(RST_STREAM, 0, streamId, uint32s(errorCode(code)));
/** Tells the peer that streams after `lastStreamId` were not processed. */
export const goAwayFrame = (code: ErrorName, lastStreamId = 0): Buffer =>
  frame(GOAWAY, 0, 0, uint32s(lastStreamId, errorCode(code)));
