import type { Row, Span, Tone } from './rows.ts';

/**
 * Dots in cells of two by four (Unicode's braille patterns), and characters that take a whole cell.
 */
export class Canvas {
  readonly columns: number;
  readonly rows: number;
  readonly #dots: Uint8Array;
  readonly #tones: (Tone | undefined)[];
  readonly #glyphs: (string | undefined)[];

  constructor(columns: number, rows: number) {
    this.columns = Math.max(1, columns);
    this.rows = Math.max(1, rows);
    const cells = this.columns * this.rows;
    this.#dots = new Uint8Array(cells);
    this.#tones = new Array<Tone | undefined>(cells);
    this.#glyphs = new Array<string | undefined>(cells);
  }

  /**
   * Draws a dot. Positions are shares of the area from the lower left corner, 0 to 1. Moves
   * positions outside to the edge.
   */
  dot(x: number, y: number, tone?: Tone): void {
    const [dotX, dotY] = this.#place(x, y);
    const cell = (dotY >> 2) * this.columns + (dotX >> 1);
    this.#dots[cell] = (this.#dots[cell] ?? 0) | (DOTS[dotY & 3]?.[dotX & 1] ?? 0);
    this.#tones[cell] = tone;
  }

  line(from: readonly [number, number], to: readonly [number, number], tone?: Tone): void {
    const steps = Math.max(this.columns * 2, this.rows * 4);
    for (let step = 0; step <= steps; step++) {
      const share = step / steps;
      this.dot(from[0] + (to[0] - from[0]) * share, from[1] + (to[1] - from[1]) * share, tone);
    }
  }

  /** Draws a character instead of the dots of its cell. */
  glyph(x: number, y: number, glyph: string, tone?: Tone): void {
    const [dotX, dotY] = this.#place(x, y);
    const cell = (dotY >> 2) * this.columns + (dotX >> 1);
    this.#glyphs[cell] = glyph;
    this.#tones[cell] = tone;
  }

  toRows(): readonly Row[] {
    return Array.from({ length: this.rows }, (_, index) => this.#row(index));
  }

  #row(index: number): Row {
    const spans: { text: string; tone?: Tone }[] = [];
    for (let column = 0; column < this.columns; column++) {
      const cell = index * this.columns + column;
      const text = this.#glyphs[cell] ?? dotsAsText(this.#dots[cell] ?? 0);
      const tone = text === ' ' ? undefined : this.#tones[cell];
      const last = spans.at(-1);
      if (last && last.tone === tone) last.text += text;
      else spans.push(tone === undefined ? { text } : { text, tone });
    }
    return spans satisfies Span[];
  }

  #place(x: number, y: number): [number, number] {
    const within = (share: number, count: number): number =>
      Math.min(count - 1, Math.max(0, Math.round(share * (count - 1))));
    return [within(x, this.columns * 2), within(1 - y, this.rows * 4)];
  }
}

/** The bit of each dot in U+2800 to U+28FF, by row and column of the cell. */
const DOTS = [
  [0x01, 0x08],
  [0x02, 0x10],
  [0x04, 0x20],
  [0x40, 0x80],
] as const;

const dotsAsText = (dots: number): string => (dots === 0 ? ' ' : String.fromCharCode(0x2800 + dots));

const EIGHTHS = ' ▏▎▍▌▋▊▉';

/** Returns a bar in eighths of a cell; a share of 1 fills all `cells`. */
export function bar(share: number, width: number): string {
  const eighths = Math.round(Math.min(1, Math.max(0, share)) * width * 8);
  const whole = '█'.repeat(eighths >> 3);
  const part = eighths & 7 ? (EIGHTHS[eighths & 7] as string) : '';
  return (whole + part).padEnd(width);
}
