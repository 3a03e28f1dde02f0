import { createHash } from 'node:crypto';
import { copyFile, lstat, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { formatMessage, TrituneError } from './errors.ts';
import { makeFolder } from './make-folder.ts';
import { fileLimits, readPieces } from './read-file.ts';

/**
 * The files of a run. Everything that is written into a run's directory goes through this module,
 * which takes names and no paths: a name from a journal, a server or a file cannot lead out of the
 * directory, and nothing is written through a link.
 */

/** File systems have no longer names. */
const MAX_BYTES = 255;

/** True for a name that is one segment of a path on every system. */
export const isFileName = (name: string): boolean =>
  name !== '' &&
  name !== '.' &&
  name !== '..' &&
  // biome-ignore lint/suspicious/noControlCharactersInRegex: no file of ours has one in its name
  !/[/\\\u0000-\u001f\u007f]/.test(name) &&
  Buffer.byteLength(name) <= MAX_BYTES;

/**
 * Returns the names of a relative path with `/`, such as `1/model.onnx`. Errors: OUTPUT_UNWRITABLE
 * for a path that is not made of names.
 */
export function namesIn(path: string): readonly string[] {
  const names = path.split('/');
  checkNames(names);
  return names;
}

function checkNames(names: readonly string[]): void {
  if (names.length > 0 && names.every(isFileName)) return;
  throw new TrituneError(
    'OUTPUT_UNWRITABLE',
    `${JSON.stringify(names.join('/').slice(0, 300))} is not the name of a file in a run's directory`,
    'use a journal that tritune wrote',
  );
}

/**
 * Returns the path of a name in a directory. Errors: OUTPUT_UNWRITABLE for a name that leads
 * elsewhere.
 */
export function pathIn(directory: string, names: readonly string[]): string {
  checkNames(names);
  return join(directory, ...names);
}

/** Returns the path of a folder in the run's directory, and creates it. Errors: as `fileIn`. */
export async function folderIn(directory: string, name: string): Promise<string> {
  const path = await fileIn(directory, [name]);
  await makeFolder(path).catch((error: unknown) => {
    throw unwritable(path, error);
  });
  return path;
}

/**
 * Returns the path of a file in the run's directory, and creates the folders above it. Errors:
 * OUTPUT_UNWRITABLE, also for a link in its place or above it.
 */
export async function fileIn(directory: string, names: readonly string[]): Promise<string> {
  const path = await placeIn(directory, names);
  await makeFolder(dirname(path)).catch((error: unknown) => {
    throw unwritable(path, error);
  });
  return path;
}

/**
 * Returns the path of a file in the run's directory that may be missing. Errors: OUTPUT_UNWRITABLE
 * for a link in its place or above it.
 */
export async function placeIn(directory: string, names: readonly string[]): Promise<string> {
  const path = pathIn(directory, names);
  for (let depth = 1; depth <= names.length; depth++) {
    const place = pathIn(directory, names.slice(0, depth));
    const kind = await readKind(place).catch((error: unknown) => {
      throw unwritable(path, error);
    });
    if (kind === null) break;
    if (kind === 'other') throw unwritable(path, `${place} is a link or no file, and tritune writes through none`);
  }
  return path;
}

/** Returns what is at a path, without following a link there; null if nothing is. */
async function readKind(path: string): Promise<'file' | 'folder' | 'other' | null> {
  const stats = await lstat(path).catch((error: unknown) => {
    if ((error as { code?: unknown }).code === 'ENOENT') return null;
    throw error;
  });
  if (stats === null) return null;
  return stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : 'other';
}

/**
 * Returns the path of a new file for the output of a process, instead of an earlier one of that
 * name. Errors: OUTPUT_UNWRITABLE.
 */
export async function newFileIn(directory: string, names: readonly string[]): Promise<string> {
  const path = await fileIn(directory, names);
  await rm(path, { force: true }).catch((error: unknown) => {
    throw unwritable(path, error);
  });
  return path;
}

/**
 * Writes a file in the run's directory. No reader ever sees half of it. Returns its path. Errors:
 * OUTPUT_UNWRITABLE.
 */
export async function writeIn(
  directory: string,
  names: readonly string[],
  content: string | Uint8Array,
): Promise<string> {
  const path = await fileIn(directory, names);
  await putWhole(path, (part) => writeFile(part, content, { flag: 'wx' }));
  return path;
}

/**
 * Writes a file that the user named, with the folders above it. No reader ever sees half of it.
 * Errors: OUTPUT_UNWRITABLE.
 */
export async function writeWhole(path: string, content: string | Uint8Array): Promise<void> {
  await makeFolder(dirname(path)).catch((error: unknown) => {
    throw unwritable(path, error);
  });
  await putWhole(path, (part) => writeFile(part, content, { flag: 'wx' }));
}

async function putWhole(path: string, put: (part: string) => Promise<void>): Promise<void> {
  const part = `${path}.part`;
  try {
    // What a killed run left, or a link that somebody put there.
    await rm(part, { force: true });
    await put(part);
    await rename(part, path);
  } catch (error) {
    throw unwritable(path, error);
  }
}

/** A file of this machine to copy; with a digest, only if it has that content. */
export interface CopiedFile {
  readonly path: string;
  readonly sha256?: string;
}

/**
 * Copies a file, or the files of a folder without its links, into the run's directory. Returns
 * false if there is none, or another content. Errors: OUTPUT_UNWRITABLE.
 */
export async function copyIn(
  directory: string,
  names: readonly string[],
  { path: source, sha256 }: CopiedFile,
): Promise<boolean> {
  const kind = await readKind(source).catch(() => null);
  if (kind === 'folder' && sha256 === undefined) {
    const entries = await readdir(source, { recursive: true, withFileTypes: true });
    for (const entry of entries.filter((each) => each.isFile())) {
      const path = join(entry.parentPath, entry.name);
      await copyIn(directory, [...names, ...relative(source, path).split(sep)], { path });
    }
    return true;
  }
  if (kind !== 'file' || (sha256 !== undefined && (await readDigest(source)) !== sha256)) return false;
  await putWhole(await fileIn(directory, names), (part) => copyFile(source, part));
  return true;
}

/** True if the run's directory has the file, with this content if a digest is given. */
export async function hasFile(directory: string, names: readonly string[], sha256?: string): Promise<boolean> {
  const path = pathIn(directory, names);
  if (!(await isBelowFolders(directory, names))) return false;
  const kind = await readKind(path);
  if (sha256 === undefined) return kind === 'file' || kind === 'folder';
  return kind === 'file' && (await readDigest(path)) === sha256;
}

/** True if all above the file are folders, and no links to some. */
async function isBelowFolders(directory: string, names: readonly string[]): Promise<boolean> {
  for (let depth = 1; depth < names.length; depth++)
    if ((await readKind(pathIn(directory, names.slice(0, depth)))) !== 'folder') return false;
  return true;
}

async function readDigest(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of readPieces(path, fileLimits.log)) hash.update(piece);
  return hash.digest('hex');
}

/**
 * Removes a file or folder of the run's directory, and no file that a link in it leads to. Errors:
 * OUTPUT_UNWRITABLE.
 */
export async function removeIn(directory: string, names: readonly string[]): Promise<void> {
  const path = pathIn(directory, names);
  try {
    if (await isBelowFolders(directory, names)) await rm(path, { recursive: true, force: true });
  } catch (error) {
    throw unwritable(path, error);
  }
}

/**
 * Returns the relative paths of everything in a folder of the run's directory; links are listed and
 * not followed.
 */
export async function listIn(directory: string, names: readonly string[]): Promise<readonly string[]> {
  const path = pathIn(directory, names);
  if ((await readKind(path)) !== 'folder') return [];
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries.map((entry) => relative(path, join(entry.parentPath, entry.name)).split(sep).join('/'));
}

/**
 * Errors: OUTPUT_EXISTS if the directory of a new run has one of these files already: it would be
 * overwritten.
 */
export async function checkFree(directory: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    if ((await readKind(join(directory, name))) === null) continue;
    const message = `${join(directory, name)} exists, and this run would overwrite it`;
    throw new TrituneError('OUTPUT_EXISTS', message, 'choose another --output');
  }
}

/** Returns the error for a file that cannot be written. */
export const unwritable = (path: string, error: unknown): TrituneError =>
  new TrituneError(
    'OUTPUT_UNWRITABLE',
    `cannot write ${path}: ${formatMessage(error)}`,
    'free some space or choose another --output',
    { cause: error },
  );
