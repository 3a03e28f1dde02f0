import type { Acknowledgements } from './acknowledgements.ts';
import * as h2 from './frames.ts';
import { HeaderBlocks } from './header-blocks.ts';
import type { PeerSettings } from './peer-settings.ts';

/** The content of a connection's frames other than DATA, after their form was checked. */
export interface FrameEvents {
  /** Takes a whole header block, which must be decoded at once. */
  headers(blocks: HeaderBlocks): void;
  /** Enlarges the window of a stream, or of the connection for stream 0. */
  windowUpdate(streamId: number, bytes: number): void;
  /**
   * Called after the peer's settings have changed from these; our acknowledgement has been sent.
   */
  settingsChanged(from: { readonly initialWindow: number; readonly headerTableSize: number }): void;
  reset(streamId: number, code: number): void;
  goAway(lastStreamId: number): void;
}

/**
 * Reads the frames and answers those that need an answer. Errors: ProtocolError for frames that
 * break HTTP/2.
 */
export class ConnectionFrames {
  readonly #acknowledgements: Acknowledgements;
  readonly #peer: PeerSettings;
  readonly #events: FrameEvents;
  readonly #blocks = new HeaderBlocks();

  constructor(acknowledgements: Acknowledgements, peer: PeerSettings, events: FrameEvents) {
    this.#acknowledgements = acknowledgements;
    this.#peer = peer;
    this.#events = events;
  }

  frame(type: number, flags: number, streamId: number, payload: Buffer, start: number, end: number): void {
    if (this.#blocks.isOpen && type !== h2.CONTINUATION) throw h2.protocolError('a header block is interrupted');
    if (type === h2.HEADERS) {
      if (this.#blocks.open(flags, streamId, payload, start, end)) this.#events.headers(this.#blocks);
    } else if (type === h2.CONTINUATION) {
      if (this.#blocks.extend(flags, streamId, payload, start, end)) this.#events.headers(this.#blocks);
    } else if (type === h2.WINDOW_UPDATE) {
      h2.checkLength(4, start, end);
      this.#events.windowUpdate(streamId, payload.readUInt32BE(start) & h2.MAX_WINDOW);
    } else if (type === h2.SETTINGS) {
      if (streamId !== 0) throw h2.protocolError('SETTINGS of a stream');
      if ((flags & h2.ACK) !== 0) h2.checkLength(0, start, end);
      else this.#onSettings(payload, start, end);
    } else if (type === h2.PING) {
      h2.checkLength(8, start, end);
      if ((flags & h2.ACK) === 0) this.#acknowledgements.send(h2.pingAckFrame(payload.subarray(start, end)));
    } else if (type === h2.RST_STREAM) {
      h2.checkLength(4, start, end);
      this.#events.reset(streamId, payload.readUInt32BE(start));
    } else if (type === h2.GOAWAY) {
      if (end - start < 8) throw new h2.ProtocolError('FRAME_SIZE_ERROR', 'a GOAWAY frame is too short');
      this.#events.goAway(payload.readUInt32BE(start) & h2.MAX_STREAM_ID);
    } else if (type === h2.PUSH_PROMISE) {
      throw h2.protocolError('the peer pushes, which is forbidden');
    }
    // Other types must be ignored.
  }

  #onSettings(payload: Buffer, start: number, end: number): void {
    const { initialWindow, headerTableSize } = this.#peer;
    this.#peer.update(payload, start, end);
    this.#acknowledgements.send(h2.settingsAckFrame());
    this.#events.settingsChanged({ initialWindow, headerTableSize });
  }
}
