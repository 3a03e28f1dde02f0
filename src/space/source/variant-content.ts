import { createHash } from 'node:crypto';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import { formatMessage } from '#base/errors.ts';
import { canonicalJson } from '#base/json.ts';
import { fileLimits, piecesSync } from '#base/read-file.ts';
import type { Artifact, BuildRecipe, LocalFile } from '../artifact.ts';
import type { BuildFile, LocalFileFile, VariantFile } from './variant-form.ts';

/** A fault of a variant's files; `key` is the part of it that names them. */
export class ContentFault extends Error {
  readonly key: 'files' | 'build';

  constructor(key: ContentFault['key'], reason: string) {
    super(reason);
    this.key = key;
  }
}

const DEFAULT_TIMEOUT_SECONDS = 3600;
/** Default duration of a build. */
const DEFAULT_BUILD_SECONDS = 60;

/**
 * Returns the written form of a variant's files with their content, for the journal: it needs
 * neither folder nor space file.
 */
export function withContent(variant: VariantFile, directory: string): VariantFile {
  const { files, build } = variant;
  return {
    ...variant,
    ...(files && { files: readContent(files, directory, 'files') }),
    ...(build && { build: buildWithContent(build, directory) }),
  };
}

/**
 * Returns the part of a variant with files that `withContent` has not read; null if it has read all
 * of them.
 */
export function unreadIn({ files, build }: VariantFile): ContentFault['key'] | null {
  const isRead = (file: LocalFileFile): boolean =>
    typeof file === 'object' && file.sha256 !== undefined && file.bytes !== undefined;
  if (!Object.values(files ?? {}).every(isRead)) return 'files';
  return build && !(build.inputs?.every(isRead) && build.directory !== undefined) ? 'build' : null;
}

/**
 * Returns the files of a variant that `withContent` has read; undefined if it is on the server
 * already.
 */
export function artifactIn(name: string, { files, build }: VariantFile): Artifact | undefined {
  if (!build && Object.keys(files ?? {}).length === 0) return undefined;
  const local = (files ?? {}) as Artifact['files'];
  return {
    variant: name,
    digest: computeDigest(local, build),
    files: local,
    ...(build && { build: toRecipe(build) }),
  };
}

function toRecipe({
  command,
  directory = '.',
  env = {},
  timeout,
  seconds,
  outputs,
  inputs = [],
}: BuildFile): BuildRecipe {
  return {
    command,
    directory,
    env,
    inputs: inputs as LocalFile[],
    timeoutSeconds: timeout ?? DEFAULT_TIMEOUT_SECONDS,
    seconds: seconds ?? DEFAULT_BUILD_SECONDS,
    outputs: outputs ?? null,
  };
}

/** A digest of the contents and the names that the command uses, independent of the folder. */
function computeDigest(files: Artifact['files'], build: BuildFile | undefined): string {
  const contents = Object.entries(files).map(([place, { sha256 }]) => [place, sha256]);
  const built = build && {
    command: build.command,
    env: build.env ?? {},
    outputs: build.outputs ?? null,
    inputs: ((build.inputs ?? []) as LocalFile[]).map(({ path, sha256 }) => [
      relative(build.directory ?? '.', path),
      sha256,
    ]),
    // An engine, or a program's numerics, may be specific to one kind of machine.
    machine: [process.platform, process.arch],
  };
  return createHash('sha256')
    .update(canonicalJson({ files: contents, ...(built && { built }) }))
    .digest('hex');
}

function buildWithContent(build: BuildFile, directory: string): BuildFile {
  const runsIn = resolve(directory, build.directory ?? '.');
  const { inputs: listed } = build;
  // In the form of a journal: all are known already.
  const isRead = listed?.every((input) => typeof input === 'object' && input.sha256 !== undefined) ?? false;
  const named = isRead ? [] : namedFiles(build.command, runsIn);
  const inputs = [...(listed ?? []), ...named].flatMap((file) => Object.values(readAll('', file, runsIn, 'build')));
  const once = new Map(inputs.map((input) => [input.path, input]));
  return { ...build, directory: runsIn, inputs: [...once.values()] };
}

/** Returns the words of a command that are files: they affect its outcome. */
function namedFiles(command: BuildFile['command'], directory: string): readonly string[] {
  const words = typeof command === 'string' ? command.split(/[\s'"=;|&<>()]+/) : command;
  return words.filter((word) => word !== '' && isFile(resolve(directory, word)) && !word.startsWith('/'));
}

const isFile = (path: string): boolean => existsSync(path) && statSync(path).isFile();

type Written = NonNullable<VariantFile['files']>;

function readContent(files: Written, directory: string, key: ContentFault['key']): Record<string, LocalFile> {
  const all = Object.entries(files).map(([place, file]) => readAll(place, file, directory, key));
  return Object.assign({}, ...all) as Record<string, LocalFile>;
}

/** The file at the place, or all files of the folder there. Throws a ContentFault. */
function readAll(
  place: string,
  file: LocalFileFile,
  directory: string,
  key: ContentFault['key'],
): Readonly<Record<string, LocalFile>> {
  if (typeof file === 'object') {
    const { path, sha256, bytes } = file;
    // In the form of a journal: the code that uploads it checks that it is unchanged.
    if (sha256 !== undefined && bytes !== undefined)
      return { [place]: { path: resolve(directory, path), sha256, bytes } };
  }
  const path = resolve(directory, typeof file === 'string' ? file : file.path);
  try {
    if (!statSync(path).isDirectory()) {
      if (/^\d+$/.test(place)) throw new ContentFault(key, `${place} is a version: it takes a folder, not ${path}`);
      return { [place]: { path, ...fileContent(path) } };
    }
    const inner = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const paths = inner.map((entry) => join(entry.parentPath, entry.name)).sort();
    return Object.fromEntries(
      paths.map((each) => {
        const below = relative(path, each).split(sep).join('/');
        return [place === '' ? each : `${place}/${below}`, { path: each, ...fileContent(each) }];
      }),
    );
  } catch (error) {
    throw error instanceof ContentFault ? error : new ContentFault(key, `it cannot be read: ${formatMessage(error)}`);
  }
}

/** Reads a file's content in pieces: it may be larger than memory. */
function fileContent(path: string): Pick<LocalFile, 'sha256' | 'bytes'> {
  const hash = createHash('sha256');
  let bytes = 0;
  for (const piece of piecesSync(path, fileLimits.log)) {
    hash.update(piece);
    bytes += piece.length;
  }
  return { sha256: hash.digest('hex'), bytes };
}
