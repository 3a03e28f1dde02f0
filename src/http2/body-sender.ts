import type { FrameWriter } from './frame-writer.ts';
import * as h2 from './frames.ts';
import type { PeerSettings } from './peer-settings.ts';

/** A body to send on one stream. */
export interface Outgoing {
  readonly streamId: number;
  readonly body: Buffer;
  sentBytes: number;
  /** Bytes that the stream's own window allows now. */
  window: number;
  /** True if the stream ends with the last byte. */
  readonly endsStream: boolean;
  /** Called once the last byte of the body has been sent. */
  allSent?(): void;
}

/**
 * Sends bodies as fast as the peer's windows let it: the connection's own, and one for each stream.
 */
export class BodySender {
  readonly #writer: FrameWriter;
  readonly #peer: PeerSettings;
  /** Bodies that wait for a window, oldest first. */
  readonly #blocked = new Set<Outgoing>();
  #window = h2.DEFAULT_WINDOW;

  constructor(writer: FrameWriter, peer: PeerSettings) {
    this.#writer = writer;
    this.#peer = peer;
  }

  /** Sends as much of the body as the windows allow; the rest follows when a window opens. */
  send(outgoing: Outgoing): void {
    const { body, streamId } = outgoing;
    while (outgoing.sentBytes < body.length) {
      const start = outgoing.sentBytes;
      const bytes = Math.min(body.length - start, this.#window, outgoing.window, this.#peer.maxFrame);
      if (bytes <= 0) {
        this.#blocked.add(outgoing);
        return;
      }
      const end = start + bytes;
      this.#writer.frame(
        h2.DATA,
        end === body.length && outgoing.endsStream ? h2.END_STREAM : 0,
        streamId,
        body,
        start,
        end,
      );
      this.#window -= bytes;
      outgoing.window -= bytes;
      outgoing.sentBytes = end;
    }
    if (this.#blocked.size > 0) this.#blocked.delete(outgoing);
    outgoing.allSent?.();
  }

  /** Forgets the body; sends nothing more of it. */
  forget(outgoing: Outgoing): void {
    if (this.#blocked.size > 0) this.#blocked.delete(outgoing);
  }

  /** Errors: ProtocolError if the window exceeds the HTTP/2 maximum. */
  growConnection(bytes: number): void {
    if (bytes === 0) throw new h2.ProtocolError('PROTOCOL_ERROR', 'a WINDOW_UPDATE of no bytes');
    this.#window += bytes;
    if (this.#window > h2.MAX_WINDOW)
      throw new h2.ProtocolError('FLOW_CONTROL_ERROR', 'the window has become too large');
    for (const outgoing of this.#blocked) {
      if (this.#window <= 0) return;
      this.send(outgoing);
    }
  }

  /**
   * False if the stream's window cannot grow by this much. `bytes` is negative if the peer takes
   * some back.
   */
  growStream(outgoing: Outgoing, bytes: number): boolean {
    outgoing.window += bytes;
    if (outgoing.window > h2.MAX_WINDOW) return false;
    if (this.#blocked.has(outgoing)) this.send(outgoing);
    return true;
  }
}
