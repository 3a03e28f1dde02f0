import { type FileHandle, open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Loaded by `--import` into a process that is to be killed in a write to its journal: each write
 * takes half of the bytes, as on a nearly full disk, and then some time, and so does each flush.
 * What the process does is the same.
 */
const WAIT_MS = 15;
/** Taken at once. */
const SMALL_BYTES = 400;

const handle = await open('/dev/null');
const prototype = Object.getPrototypeOf(handle) as Pick<FileHandle, 'sync'> & { write: Write };
await handle.close();

type Write = (bytes: Uint8Array, offset: number, length: number, position: number) => ReturnType<FileHandle['write']>;
const { write, sync } = prototype;

prototype.write = async function (this: FileHandle, bytes, offset, length, position) {
  const part = length > SMALL_BYTES ? Math.ceil(length / 2) : length;
  const written = await write.call(this, bytes, offset, part, position);
  await sleep(WAIT_MS);
  return written;
};
prototype.sync = async function (this: FileHandle) {
  await sleep(WAIT_MS);
  await sync.call(this);
};
