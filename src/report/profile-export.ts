import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { formatMessage, TrituneError } from '../base/errors.ts';
import { trituneVersion } from '../base/package.ts';
import type { LoadLevel } from '../loadgen/types.ts';

/** One request in the export. Times are nanoseconds of the monotonic clock. */
export interface ExportedRequest {
  readonly startNs: number;
  readonly responsesNs: readonly number[];
  /** 0 for none. */
  readonly sequenceId: number;
  /** JSON texts of objects by tensor name. */
  readonly inputs: string;
  readonly outputs: string;
}

/** Text is written in pieces of this size: few calls, little memory. */
const PIECE_CHARS = 64 * 1024;

/**
 * The profile-export file that GenAI-Perf reads. It is written as requests end, so its size does
 * not matter. It holds every request of a level, including warm-up and unstable windows. `epochNs`:
 * nanoseconds from 1970 to the monotonic clock's 0.
 */
export class ProfileExport {
  readonly #file: WriteStream;
  readonly #epochNs: bigint;
  #pending = '';
  #levels = 0;
  #requests = 0;
  #boundaries: string[] = [];
  #failure: unknown = null;

  /** Errors: OUTPUT_EXISTS, OUTPUT_UNWRITABLE. */
  static async open(path: string, epochNs: bigint): Promise<ProfileExport> {
    const file = createWriteStream(path, { flags: 'wx' });
    try {
      await once(file, 'open');
    } catch (error) {
      const exists = (error as NodeJS.ErrnoException).code === 'EEXIST';
      throw exists
        ? new TrituneError('OUTPUT_EXISTS', `${path} already exists`, 'choose another file, or move that one away')
        : new TrituneError('OUTPUT_UNWRITABLE', `cannot write ${path}: ${formatMessage(error)}`, 'choose another file');
    }
    return new ProfileExport(file, epochNs);
  }

  private constructor(file: WriteStream, epochNs: bigint) {
    this.#file = file;
    this.#epochNs = epochNs;
    file.on('error', (error) => {
      this.#failure ??= error;
    });
    this.#write('{"experiments":[');
  }

  beginLevel({ mode, value }: LoadLevel): void {
    const name = mode === 'concurrency' ? 'concurrency' : 'request_rate';
    this.#write(`${this.#levels++ > 0 ? ',' : ''}{"experiment":{"mode":"${name}","value":${value}},"requests":[`);
    this.#requests = 0;
    this.#boundaries = [];
  }

  request({ startNs, responsesNs, sequenceId, inputs, outputs }: ExportedRequest): void {
    const times = responsesNs.map((ns) => this.#time(ns)).join(',');
    const sequence = sequenceId === 0 ? '' : `"sequence_id":${sequenceId},`;
    this.#write(
      `${this.#requests++ > 0 ? ',' : ''}{"timestamp":${this.#time(startNs)},${sequence}"request_inputs":${inputs},` +
        `"response_timestamps":[${times}],"response_outputs":[${responsesNs.map(() => outputs).join(',')}]}`,
    );
  }

  /** Records the beginning or end of a window. */
  boundary(ns: number): void {
    this.#boundaries.push(this.#time(ns));
  }

  endLevel(): void {
    this.#write(`],"window_boundaries":[${this.#boundaries.join(',')}]}`);
  }

  /** Ends the file. Errors: OUTPUT_UNWRITABLE if anything could not be written. */
  async close(): Promise<void> {
    this.#pending += `],"version":${JSON.stringify(trituneVersion)},"service_kind":"triton","endpoint":""}\n`;
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

  #time(ns: number): string {
    return String(this.#epochNs + BigInt(Math.round(ns)));
  }

  #write(text: string): void {
    this.#pending += text;
    if (this.#pending.length >= PIECE_CHARS) this.#flush();
  }

  #flush(): void {
    this.#file.write(this.#pending);
    this.#pending = '';
  }
}
