import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';

/**
 * How a connection ends or spoils in place of an answer. The last two are HTTP/2's: the one request is reset (RST_STREAM),
 * or refused with word that the connection takes no more (GOAWAY). Over HTTP/1 they are `close`.
 */
export type Breakage = 'close' | 'half-close' | 'reset' | 'garbage' | 'reset-stream' | 'go-away';

const GARBAGE_BYTES = 64;

/**
 * Breaks a connection: closed in the usual manner, or for our part only, reset (RST), or bytes that are no protocol at all and then closed. Over
 * HTTP/2 the session owns the socket's handle, so the bytes go past it.
 */
export function breakConnection(socket: Socket, how: Breakage): void {
  if (how === 'reset') socket.resetAndDestroy();
  else if (how === 'half-close') socket.end();
  else if (how === 'garbage') socket.end(Buffer.concat([Buffer.of(0xff, 0xff), randomBytes(GARBAGE_BYTES)]));
  else socket.destroy();
}
