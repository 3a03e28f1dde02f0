import type { Call } from './call.ts';
import type { FrameWriter } from './frame-writer.ts';
import * as h2 from './frames.ts';
import type { PeerSettings } from './peer-settings.ts';

/** Sends request bodies as fast as the peer's windows let it: the connection's own, and one for each stream. */
export class BodySender {
  readonly #writer: FrameWriter;
  readonly #peer: PeerSettings;
  /** Calls whose body waits for a window, oldest first. */
  readonly #blocked = new Set<Call>();
  #window = h2.DEFAULT_WINDOW;

  constructor(writer: FrameWriter, peer: PeerSettings) {
    this.#writer = writer;
    this.#peer = peer;
  }

  /** Sends what may be sent now of the call's body; the rest follows when a window opens. */
  send(call: Call): void {
    const { body, streamId } = call;
    while (call.sentBytes < body.length) {
      const start = call.sentBytes;
      const bytes = Math.min(body.length - start, this.#window, call.window, this.#peer.maxFrame);
      if (bytes <= 0) {
        this.#blocked.add(call);
        return;
      }
      const end = start + bytes;
      this.#writer.frame(
        h2.DATA,
        end === body.length && call.endsStream ? h2.END_STREAM : 0,
        streamId,
        body,
        start,
        end,
      );
      this.#window -= bytes;
      call.window -= bytes;
      call.sentBytes = end;
    }
    if (this.#blocked.size > 0) this.#blocked.delete(call);
  }

  /** The call has ended; nothing more of it is sent. */
  forget(call: Call): void {
    if (this.#blocked.size > 0) this.#blocked.delete(call);
  }

  /** Errors: ProtocolError when the window grows beyond what HTTP/2 knows. */
  growConnection(bytes: number): void {
    if (bytes === 0) throw new h2.ProtocolError('PROTOCOL_ERROR', 'a WINDOW_UPDATE of no bytes');
    this.#window += bytes;
    if (this.#window > h2.MAX_WINDOW)
      throw new h2.ProtocolError('FLOW_CONTROL_ERROR', 'the window has become too large');
    for (const call of this.#blocked) {
      if (this.#window <= 0) return;
      this.send(call);
    }
  }

  /** False when the stream's window cannot grow by so much. `bytes` is negative when the peer takes some back. */
  growStream(call: Call, bytes: number): boolean {
    call.window += bytes;
    if (call.window > h2.MAX_WINDOW) return false;
    if (this.#blocked.has(call)) this.send(call);
    return true;
  }
}
