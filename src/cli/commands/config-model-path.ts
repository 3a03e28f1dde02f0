import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { formatMessage, TrituneError } from '#base/errors.ts';

/** The served file and its version, from a path in a model repository. */
export interface ModelPath {
  readonly file: string;
  /** null for a file outside of any version's folder. */
  readonly version: number | null;
}

const VERSION = /^[1-9]\d*$/;
/** The names of models that are a folder inside their version's folder. */
const FOLDER_MODEL = /\.(savedmodel|openvino)$/;

/**
 * Reads the path of a model: its file (`REPO/MODEL/3/model.onnx`), the folder of one version
 * (`REPO/MODEL/3`), or the model's own folder, which means the latest version unless `version` is
 * given. Errors: INPUT_INVALID if nothing is there, or if several files match.
 */
export async function readModelPath(path: string, version?: number): Promise<ModelPath> {
  const at = resolve(path);
  if (FOLDER_MODEL.test(at) || !(await isFolder(at))) return { file: basename(at), version: parseVersion(dirname(at)) };
  if (parseVersion(at) !== null) return { file: await onlyFileIn(at), version: parseVersion(at) };
  const versions = (await namesIn(at)).filter((name) => VERSION.test(name)).map(Number);
  const chosen = version ?? Math.max(...versions);
  if (!versions.includes(chosen))
    throw wrong(
      `${path} has no directory of a version${version === undefined ? '' : ` ${version}`}`,
      'give the file itself',
    );
  return { file: await onlyFileIn(join(at, String(chosen))), version: chosen };
}

const parseVersion = (folder: string): number | null =>
  VERSION.test(basename(folder)) ? Number(basename(folder)) : null;

async function onlyFileIn(folder: string): Promise<string> {
  const names = (await namesIn(folder)).filter((name) => !name.startsWith('.'));
  const [file, ...others] = names;
  if (file === undefined) throw wrong(`${folder} is empty`, 'give the file itself');
  if (others.length > 0) throw wrong(`${folder} has several files: ${names.join(', ')}`, 'give the one to serve');
  return file;
}

async function isFolder(path: string): Promise<boolean> {
  return (await reading(path, stat(path))).isDirectory();
}

const namesIn = async (folder: string): Promise<string[]> => (await reading(folder, readdir(folder))).sort();

const reading = <T>(path: string, work: Promise<T>): Promise<T> =>
  work.catch((error: unknown) => {
    throw wrong(
      `cannot read ${path}: ${formatMessage(error)}`,
      "give a model's file, or its directory in a repository",
    );
  });

const wrong = (message: string, hint: string): TrituneError => new TrituneError('INPUT_INVALID', message, hint);
