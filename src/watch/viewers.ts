import type { Board, BoardMessage } from './board.ts';

/** The output stream of one viewer. */
export interface Sink {
  /** Writes the text; false if it takes no more until it is `drained`. */
  write(text: string): boolean;
}

/** One viewer. */
export interface Viewer {
  /** Reports that it takes more again. */
  drained(): void;
  leave(): void;
}

/** A viewer without news for this long gets a sign of life. */
const BEAT_MS = 10_000;
/** The minimum time between computations of a text, as a multiple of the computation's duration. */
const PAUSES = 10;
/** The delay before a browser reconnects by itself. */
const RETRY_MS = 2_000;

interface Own extends Viewer {
  readonly sink: Sink;
  readonly behind: Set<string>;
  isFull: boolean;
  reportedMs: number;
}

/**
 * Sends all viewers of a board the changes, as server-sent events. Each viewer gets the latest
 * state of every part, and no states in between, so a slow or reconnected viewer misses nothing
 * current. The caller supplies the clock.
 */
export class Viewers {
  readonly #board: Board;
  readonly #nowMs: () => number;
  readonly #all = new Set<Own>();
  /** Texts, valid until their part changes. */
  readonly #texts = new Map<string, string | null>();
  readonly #notBeforeMs = new Map<string, number>();

  constructor(board: Board, nowMs: () => number) {
    this.#board = board;
    this.#nowMs = nowMs;
    board.listen((part) => {
      this.#texts.delete(part);
      for (const { behind } of this.#all) behind.add(part);
    });
  }

  get count(): number {
    return this.#all.size;
  }

  /** Adds a viewer, and sends it the current state. */
  add(sink: Sink): Viewer {
    const viewer: Own = {
      sink,
      behind: new Set(this.#board.parts),
      isFull: false,
      reportedMs: this.#nowMs(),
      drained: () => {
        viewer.isFull = false;
      },
      leave: () => {
        this.#all.delete(viewer);
      },
    };
    this.#all.add(viewer);
    this.#write(viewer, `retry: ${RETRY_MS}\n\n`);
    this.#tell(viewer);
    return viewer;
  }

  /** Sends every viewer what it does not know yet, or else a sign of life. */
  tick(): void {
    for (const viewer of this.#all) {
      this.#tell(viewer);
      if (!viewer.isFull && this.#nowMs() - viewer.reportedMs >= BEAT_MS)
        this.#write(viewer, 'event: beat\ndata: {}\n\n');
    }
  }

  #tell(viewer: Own): void {
    for (const part of [...viewer.behind]) {
      if (viewer.isFull) return;
      const text = this.#text(part);
      if (text === undefined) continue;
      viewer.behind.delete(part);
      if (text !== null) this.#write(viewer, text);
    }
  }

  #write(viewer: Own, text: string): void {
    viewer.isFull = !viewer.sink.write(text);
    viewer.reportedMs = this.#nowMs();
  }

  /**
   * Returns undefined if it is too early for another expensive computation; null for a removed
   * part.
   */
  #text(part: string): string | null | undefined {
    const known = this.#texts.get(part);
    if (known !== undefined) return known;
    const beginMs = this.#nowMs();
    if (beginMs < (this.#notBeforeMs.get(part) ?? 0)) return undefined;
    const message = this.#board.message(part);
    const text = message && eventText(message);
    const endMs = this.#nowMs();
    this.#notBeforeMs.set(part, endMs + PAUSES * (endMs - beginMs));
    this.#texts.set(part, text);
    return text;
  }
}

/** JSON contains no line feeds of its own, so it is always one line of data. */
const eventText = ({ event, data }: BoardMessage): string => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
