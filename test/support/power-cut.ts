import fs, { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { dirname } from 'node:path';
import type { Random } from '#base/random.ts';

const NEWLINE = 0x0a;
/** What a disk writes whole; smaller than a real one's, so that a record has several. */
export const SECTOR_BYTES = 512;

/**
 * Returns states in which a power cut may leave a journal whose last record was being written: the
 * file's new length may be on the disk without the content, any sectors of which may be missing.
 * `flushed`: the bytes that were flushed before.
 */
export function* statesAfterPowerCut(journal: Buffer, flushed: number, random: Random): Generator<Buffer> {
  const pending = journal.indexOf(NEWLINE, flushed) + 1 || journal.length;
  yield journal.subarray(0, flushed);
  yield journal.subarray(0, random.int(flushed, pending));
  yield withZeros(journal.subarray(0, pending), flushed, () => true);
  const cut = random.int(flushed, pending);
  yield withZeros(journal.subarray(0, pending), cut, () => true);
  yield withZeros(journal.subarray(0, pending), flushed, () => random.float() < 0.5);
}

/** Zeros from that byte on, in the sectors that are missing. */
function withZeros(bytes: Buffer, from: number, isMissing: () => boolean): Buffer {
  const state = Buffer.from(bytes);
  for (let start = from; start < state.length; ) {
    const end = Math.min(state.length, (Math.floor(start / SECTOR_BYTES) + 1) * SECTOR_BYTES);
    if (isMissing()) state.fill(0, start, end);
    start = end;
  }
  return state;
}

/**
 * What is on the disk for certain: the content of files, and the entries of folders, as they were
 * last flushed.
 */
export class FlushedDisk {
  readonly #contents = new Map<number, Buffer>();
  readonly #entries = new Map<string, ReadonlyMap<string, number>>();

  /** Watches this process until the returned function is called. */
  static async watch(): Promise<{ readonly disk: FlushedDisk; readonly stop: () => void }> {
    const disk = new FlushedDisk();
    const handle = await open('/dev/null');
    const prototype = Object.getPrototypeOf(handle) as FileHandle;
    await handle.close();
    const before = { sync: prototype.sync, fsyncSync: fs.fsyncSync };
    prototype.sync = async function (this: FileHandle) {
      await before.sync.call(this);
      disk.#flushed(this.fd);
    };
    fs.fsyncSync = (file) => {
      before.fsyncSync(file);
      disk.#flushed(file);
    };
    syncBuiltinESMExports();
    const stop = (): void => {
      prototype.sync = before.sync;
      fs.fsyncSync = before.fsyncSync;
      syncBuiltinESMExports();
    };
    return { disk, stop };
  }

  #flushed(file: number): void {
    const { ino } = fs.fstatSync(file);
    const path = readlinkSync(`/proc/self/fd/${file}`);
    if (fs.fstatSync(file).isDirectory()) {
      const names = readdirSync(path).map((name) => [name, fs.lstatSync(`${path}/${name}`).ino] as const);
      this.#entries.set(path, new Map(names));
    } else this.#contents.set(ino, readFileSync(path));
  }

  /**
   * Returns the content with which a file survives, empty if it was never flushed; null if it is
   * gone, or a folder above it.
   */
  contentOf(path: string): Buffer | null {
    const file = this.#entryOf(path);
    return file === null ? null : (this.#contents.get(file) ?? Buffer.alloc(0));
  }

  #entryOf(path: string): number | null {
    const above = dirname(path);
    if (above === path) return 0;
    if (this.#entryOf(above) === null) return null;
    return this.#entries.get(above)?.get(path.slice(above === '/' ? 1 : above.length + 1)) ?? null;
  }
}
