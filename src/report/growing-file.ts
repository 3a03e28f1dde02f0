import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { formatMessage, TrituneError } from '#base/errors.ts';

/** Text is written in pieces of this size: few calls, little memory. */
const PIECE_CHARS = 64 * 1024;

/** A new file that is written during a run, whatever its size becomes. */
export class GrowingFile {
  readonly #file: WriteStream;
  #pending = '';
  #failure: unknown = null;

  /** Errors: OUTPUT_EXISTS, OUTPUT_UNWRITABLE. */
  static async open(path: string): Promise<GrowingFile> {
    const file = createWriteStream(path, { flags: 'wx' });
    try {
      await once(file, 'open');
    } catch (error) {
      const exists = (error as NodeJS.ErrnoException).code === 'EEXIST';
      throw exists
        ? new TrituneError('OUTPUT_EXISTS', `${path} already exists`, 'choose another file, or move that one away')
        : new TrituneError('OUTPUT_UNWRITABLE', `cannot write ${path}: ${formatMessage(error)}`, 'choose another file');
    }
    return new GrowingFile(file);
  }

  private constructor(file: WriteStream) {
    this.#file = file;
    file.on('error', (error) => {
      this.#failure ??= error;
    });
  }

  write(text: string): void {
    this.#pending += text;
    if (this.#pending.length >= PIECE_CHARS) this.#flush();
  }

  /** Ends the file. Errors: OUTPUT_UNWRITABLE if anything could not be written. */
  async close(): Promise<void> {
    this.#flush();
    await new Promise<void>((resolve) => {
      this.#file.once('close', resolve);
      this.#file.end();
    });
    if (this.#failure) {
      throw new TrituneError(
        'OUTPUT_UNWRITABLE',
        `the profile export is incomplete: ${formatMessage(this.#failure)}`,
        'free some space, or choose a file elsewhere',
      );
    }
  }

  #flush(): void {
    this.#file.write(this.#pending);
    this.#pending = '';
  }
}
