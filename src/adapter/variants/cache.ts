import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, relative, sep } from 'node:path';
import { z } from 'zod';
import { makeFolder } from '#base/make-folder.ts';
import { fileLimits, readBytes, readTextSync } from '#base/read-file.ts';
import { pathIn } from '#base/run-files.ts';
import type { Artifact, LocalFile } from '#space/artifact.ts';

/** The result of a build, keyed by the digest of its sources. */
const outcome = z.object({
  seconds: z.number(),
  /** Output files by path. */
  files: z.record(z.string(), z.object({ sha256: z.string(), bytes: z.number() })),
});

type Outcome = z.infer<typeof outcome>;
type Keyed = Pick<Artifact, 'digest'>;

const OUTCOME_FILE = 'built.json';

/**
 * Returns the user's cache directory, by the XDG Base Directory Specification: builds belong to no
 * single study, can be repeated, and are worth keeping for the next one.
 */
export const cacheDirectory = (env: Readonly<Record<string, string | undefined>> = process.env): string =>
  join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'tritune', 'variants');

const toFolder = (directory: string, { digest }: Keyed): string => pathIn(directory, [digest.slice(0, 32)]);

/** Returns the location of the command's output after the build. */
export const toOutputPath = (directory: string, artifact: Keyed): string =>
  join(toFolder(directory, artifact), 'output');

/** Returns the location of the build's log, whether or not it succeeded. */
export const formatLog = (directory: string, { digest, variant }: Pick<Artifact, 'digest' | 'variant'>): string =>
  pathIn(directory, [`${variant}-${digest.slice(0, 12)}.log`]);

/** True if the build's outcome exists. */
export const isBuilt = (directory: string, artifact: Keyed): boolean =>
  existsSync(join(toFolder(directory, artifact), OUTCOME_FILE));

/** Returns the built files if they are unchanged; null without any. */
export async function builtFiles(directory: string, artifact: Keyed): Promise<Record<string, LocalFile> | null> {
  const known = outcomeIn(toFolder(directory, artifact));
  if (known === null) return null;
  const output = toOutputPath(directory, artifact);
  const files = Object.entries(known.files).map(([name, file]) => [name, { path: join(output, name), ...file }]);
  return Object.fromEntries(files) as Record<string, LocalFile>;
}

function outcomeIn(folder: string): Outcome | null {
  try {
    return outcome.parse(JSON.parse(readTextSync(join(folder, OUTCOME_FILE), fileLimits.results)));
  } catch {
    return null;
  }
}

/** A new empty output directory next to the cache's, and the function that adds it to the cache. */
export interface Draft {
  readonly output: string;
  /** Keeps the output, whole or not at all; if another run was faster, its outcome stays. */
  keep(seconds: number): Promise<void>;
  discard(): Promise<void>;
}

/** Starts an entry of the cache. */
export async function beginDraft(directory: string, artifact: Keyed): Promise<Draft> {
  const folder = toFolder(directory, artifact);
  const draft = `${folder}.${process.pid}.part`;
  const output = join(draft, 'output');
  await rm(draft, { recursive: true, force: true });
  await makeFolder(output);
  const discard = (): Promise<void> => rm(draft, { recursive: true, force: true });
  return {
    output,
    discard,
    keep: async (seconds) => {
      const entries = await readdir(output, { recursive: true, withFileTypes: true });
      const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
      const files: Outcome['files'] = {};
      for (const path of paths.sort()) files[relative(output, path).split(sep).join('/')] = await readContent(path);
      await writeFile(join(draft, OUTCOME_FILE), JSON.stringify({ seconds, files } satisfies Outcome));
      // The content of a changed or damaged entry was not accepted as the outcome above.
      await rm(folder, { recursive: true, force: true });
      await rename(draft, folder).catch(async (error: unknown) => {
        await discard();
        if (outcomeIn(folder) === null) throw error;
      });
    },
  };
}

async function readContent(path: string): Promise<Outcome['files'][string]> {
  const content = await readBytes(path, fileLimits.artifact);
  return { sha256: hashSha256(content), bytes: content.length };
}

/** Returns the SHA-256 digest in hexadecimal. */
export const hashSha256 = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex');
