import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';

/**
 * How a connection breaks instead of answering. The last two belong to HTTP/2: the one request is
 * reset (RST_STREAM), or refused because the connection takes no more (GOAWAY). Over HTTP/1 they
 * are `close`.
 */
export type Breakage = 'close' | 'half-close' | 'reset' | 'garbage' | 'reset-stream' | 'go-away';

const GARBAGE_BYTES = 64;

/**
 * Breaks a connection: closes it normally, closes only our side, resets it (RST), or sends bytes of
 * no protocol and then closes it. Over HTTP/2 the session owns the socket's handle, so the bytes
 * bypass it.
 */
export function breakConnection(socket: Socket, how: Breakage): void {
  if (how === 'reset') socket.resetAndDestroy();
  else if (how === 'half-close') socket.end();
  else if (how === 'garbage') socket.end(Buffer.concat([Buffer.of(0xff, 0xff), randomBytes(GARBAGE_BYTES)]));
  else socket.destroy();
}
