import { trituneVersion } from '#base/package.ts';
import type { LoadLevel } from '#loadgen/types.ts';
import { GrowingFile } from './growing-file.ts';

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

/**
 * The profile-export file that GenAI-Perf reads. It is written as requests end, so its size does
 * not matter. It holds every request of a level, including warm-up and unstable windows. `epochNs`:
 * nanoseconds from 1970 to the monotonic clock's 0.
 */
export class ProfileExport {
  readonly #file: GrowingFile;
  readonly #epochNs: bigint;
  #levels = 0;
  #requests = 0;
  #boundaries: string[] = [];

  /** Errors: OUTPUT_EXISTS, OUTPUT_UNWRITABLE. */
  static async open(path: string, epochNs: bigint): Promise<ProfileExport> {
    return new ProfileExport(await GrowingFile.open(path), epochNs);
  }

  private constructor(file: GrowingFile, epochNs: bigint) {
    this.#file = file;
    this.#epochNs = epochNs;
    file.write('{"experiments":[');
  }

  beginLevel({ mode, value }: LoadLevel): void {
    const name = mode === 'concurrency' ? 'concurrency' : 'request_rate';
    this.#file.write(`${this.#levels++ > 0 ? ',' : ''}{"experiment":{"mode":"${name}","value":${value}},"requests":[`);
    this.#requests = 0;
    this.#boundaries = [];
  }

  request({ startNs, responsesNs, sequenceId, inputs, outputs }: ExportedRequest): void {
    const times = responsesNs.map((ns) => this.#time(ns)).join(',');
    const sequence = sequenceId === 0 ? '' : `"sequence_id":${sequenceId},`;
    this.#file.write(
      `${this.#requests++ > 0 ? ',' : ''}{"timestamp":${this.#time(startNs)},${sequence}"request_inputs":${inputs},` +
        `"response_timestamps":[${times}],"response_outputs":[${responsesNs.map(() => outputs).join(',')}]}`,
    );
  }

  /** Records the beginning or end of a window. */
  boundary(ns: number): void {
    this.#boundaries.push(this.#time(ns));
  }

  endLevel(): void {
    this.#file.write(`],"window_boundaries":[${this.#boundaries.join(',')}]}`);
  }

  /** Ends the file. Errors: OUTPUT_UNWRITABLE if anything could not be written. */
  async close(): Promise<void> {
    this.#file.write(`],"version":${JSON.stringify(trituneVersion)},"service_kind":"triton","endpoint":""}\n`);
    await this.#file.close();
  }

  #time(ns: number): string {
    return String(this.#epochNs + BigInt(Math.round(ns)));
  }
}
