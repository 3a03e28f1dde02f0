import { Console } from 'node:console';
import { PassThrough, Writable } from 'node:stream';
import headless from '@xterm/headless';
import type { Size } from '#tui/rows.ts';

// The console of the test runner lacks it, and Ink needs it to keep what is printed out of its
// frames.
Object.assign(console, { Console });

/** A terminal in memory that draws what is written to it, as a person would see it. */
export class VirtualTerminal {
  readonly #terminal;
  readonly stdout: NodeJS.WriteStream;
  /** Its keyboard: what is pushed into it was typed. */
  readonly stdin = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (isRaw: boolean) => {
      if (!isRaw) return;
      this.writtenBeforeRaw ??= this.written;
    },
    ref: () => undefined,
    unref: () => undefined,
  }) as unknown as NodeJS.ReadStream;
  /** All that was written. */
  written = '';
  /** What of it was written while the terminal still echoed keys; null until it no longer did. */
  writtenBeforeRaw: string | null = null;

  constructor({ columns, rows }: Size) {
    const terminal = new headless.Terminal({
      cols: columns,
      rows,
      allowProposedApi: true,
      convertEol: true,
      scrollback: 0,
    });
    this.#terminal = terminal;
    const stream = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        this.written += chunk.toString();
        terminal.write(chunk, done);
      },
    });
    this.stdout = Object.assign(stream, { isTTY: true, columns, rows }) as unknown as NodeJS.WriteStream;
  }

  resize({ columns, rows }: Size): void {
    this.#terminal.resize(columns, rows);
    Object.assign(this.stdout, { columns, rows });
    this.stdout.emit('resize');
  }

  /** What is to be seen, once all that was written is drawn. */
  async lines(): Promise<string[]> {
    await new Promise<void>((drawn) => this.#terminal.write('', drawn));
    const { active } = this.#terminal.buffer;
    return Array.from({ length: this.#terminal.rows }, (_, y) => active.getLine(y)?.translateToString(true) ?? '');
  }

  get isAlternate(): boolean {
    return this.#terminal.buffer.active.type === 'alternate';
  }

  /** True when a cell has a colour of its own. */
  hasColours(): boolean {
    const { active } = this.#terminal.buffer;
    return Array.from({ length: this.#terminal.rows }, (_, y) => active.getLine(y)).some((line) =>
      Array.from({ length: this.#terminal.cols }, (_, x) => line?.getCell(x)).some(
        (cell) => cell && !cell.isFgDefault(),
      ),
    );
  }
}
