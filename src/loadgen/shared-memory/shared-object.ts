import { closeSync, existsSync, ftruncateSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { isRemains, ownName } from './owner.ts';

/**
 * The directory where Linux shows POSIX shared memory as files: bytes written there appear in the
 * server's mapping.
 */
const FOLDER = '/dev/shm';

/**
 * A shared-memory object of this process: a name, and a file that is deleted at every orderly exit
 * of the process.
 */
export interface SharedObject {
  /** Also the name of its region on the server. */
  readonly name: string;
  readonly path: string;
  readonly byteSize: number;
  remove(): void;
}

const live = new Set<string>();
const removeAll = (): void => {
  for (const path of live) rmSync(path, { force: true });
};

/** Returns whether this machine shows POSIX shared memory as files. */
export const hasSharedMemory = (): boolean => existsSync(FOLDER);

/**
 * Creates an object of this many bytes, which take no memory until they are written. Errors:
 * UNSUPPORTED without shared memory.
 */
export function createSharedObject(what: 'in' | 'out', byteSize: number): SharedObject {
  if (!hasSharedMemory()) {
    throw new TrituneError(
      'UNSUPPORTED',
      `this machine has no ${FOLDER}`,
      'leave out --shared-memory, which needs Linux',
    );
  }
  const name = ownName(what);
  const path = join(FOLDER, name);
  if (live.size === 0) process.on('exit', removeAll);
  live.add(path);
  const remove = (): void => {
    rmSync(path, { force: true });
    live.delete(path);
    if (live.size === 0) process.off('exit', removeAll);
  };
  try {
    const fd = openSync(path, 'wx', 0o600);
    ftruncateSync(fd, byteSize);
    closeSync(fd);
  } catch (error) {
    remove();
    throw noMemory(error);
  }
  return { name, path, byteSize, remove };
}

/** Writes bytes into the object at that path, at their offsets. Errors: as `writeShared`. */
export function fillShared(path: string, contents: ReadonlyMap<Uint8Array, number>): void {
  const fd = openSync(path, 'r+');
  try {
    for (const [bytes, offset] of contents) writeShared(fd, bytes, offset);
  } finally {
    closeSync(fd);
  }
}

/** Writes all of the bytes. Errors: UNSUPPORTED if the machine has no more shared memory. */
export function writeShared(fd: number, bytes: Uint8Array, offset: number): void {
  try {
    for (let done = 0; done < bytes.byteLength; ) {
      done += writeSync(fd, bytes, done, bytes.byteLength - done, offset + done);
    }
  } catch (error) {
    throw noMemory(error);
  }
}

const noMemory = (error: unknown): TrituneError =>
  new TrituneError(
    'UNSUPPORTED',
    `cannot get shared memory: ${formatMessage(error)}`,
    `make ${FOLDER} larger (docker: --shm-size), send less data, or leave out --shared-memory`,
    { cause: error },
  );

/**
 * Deletes the remains of processes that no longer exist. A server that still has one mapped keeps
 * it until it is told to release it.
 */
export function removeRemains(): void {
  for (const name of readdirSync(FOLDER)) {
    // Objects of other users are left alone.
    if (isRemains(name)) tryTo(() => rmSync(join(FOLDER, name), { force: true }));
  }
}

function tryTo(act: () => void): void {
  try {
    act();
  } catch {
    // Left to a user with permission.
  }
}
