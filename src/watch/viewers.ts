import type { Board, BoardMessage } from './board.ts';

/** Where the stream of one viewer goes. */
export interface Sink {
  /** Takes the text; false when it takes no more until it is `drained`. */
  write(text: string): boolean;
}

/** One who watches. */
export interface Viewer {
  /** It takes more again. */
  drained(): void;
  leave(): void;
}

/** A viewer that has heard nothing for this long is told so much. */
const BEAT_MS = 10_000;
/** What took so long to work out is worked out again after this many times that, at the earliest. */
const PAUSES = 10;
/** How soon a browser connects again by itself. */
const RETRY_MS = 2_000;

interface Own extends Viewer {
  readonly sink: Sink;
  readonly behind: Set<string>;
  isFull: boolean;
  toldMs: number;
}

/**
 * Tells all viewers of a board what has changed, as server-sent events. Each is told the newest of every part, never what lies between: whoever
 * is slow, or connects again, misses nothing that stands. The clock is the caller's.
 */
export class Viewers {
  readonly #board: Board;
  readonly #nowMs: () => number;
  readonly #all = new Set<Own>();
  /** Texts that hold until their part changes. */
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

  /** Takes a viewer, and tells it all that stands. */
  add(sink: Sink): Viewer {
    const viewer: Own = {
      ...{ sink, behind: new Set(this.#board.parts), isFull: false, toldMs: this.#nowMs() },
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

  /** Tells every viewer what it does not know yet, and that the stream lives where there is nothing else to tell. */
  tick(): void {
    for (const viewer of this.#all) {
      this.#tell(viewer);
      if (!viewer.isFull && this.#nowMs() - viewer.toldMs >= BEAT_MS) this.#write(viewer, 'event: beat\ndata: {}\n\n');
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
    viewer.toldMs = this.#nowMs();
  }

  /** undefined for what is too dear to be worked out so soon again; null for a part that is no more. */
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

/** JSON has no line feeds of its own, so that it is one line of data whatever is in it. */
const eventText = ({ event, data }: BoardMessage): string => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
