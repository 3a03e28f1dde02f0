import * as h2 from './frames.ts';

/** The peer's limits, from its SETTINGS frames. */
export class PeerSettings {
  maxConcurrentStreams = Number.POSITIVE_INFINITY;
  initialWindow = h2.DEFAULT_WINDOW;
  maxFrame = h2.DEFAULT_MAX_FRAME;
  headerTableSize = h2.DEFAULT_TABLE_SIZE;

  /** Takes the payload of a SETTINGS frame. Errors: ProtocolError for a value out of range. */
  update(payload: Buffer, start: number, end: number): void {
    if ((end - start) % 6 !== 0) throw new h2.ProtocolError('FRAME_SIZE_ERROR', 'a SETTINGS frame of odd length');
    for (let at = start; at < end; at += 6) this.#set(payload.readUInt16BE(at), payload.readUInt32BE(at + 2));
  }

  #set(id: number, value: number): void {
    switch (id) {
      case h2.SETTINGS_HEADER_TABLE_SIZE:
        this.headerTableSize = value;
        break;
      case h2.SETTINGS_MAX_CONCURRENT_STREAMS:
        this.maxConcurrentStreams = value;
        break;
      case h2.SETTINGS_INITIAL_WINDOW_SIZE:
        if (value > h2.MAX_WINDOW)
          throw new h2.ProtocolError('FLOW_CONTROL_ERROR', `an initial window of ${value} bytes`);
        this.initialWindow = value;
        break;
      case h2.SETTINGS_MAX_FRAME_SIZE:
        if (value < h2.DEFAULT_MAX_FRAME || value > h2.MAX_FRAME_LIMIT) {
          throw new h2.ProtocolError('PROTOCOL_ERROR', `a frame size limit of ${value} bytes`);
        }
        this.maxFrame = value;
        break;
      default:
        // Unknown settings, and those that bind only the other side, must be ignored.
        break;
    }
  }
}
