import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, relative, sep } from 'node:path';
import { z } from 'zod';
import type { Artifact, LocalFile } from '../../../space/artifact.ts';

/** What was built, by the digest of what it was built from. */
const outcome = z.object({
  seconds: z.number(),
  /** Files of the output by their path in it. */
  files: z.record(z.string(), z.object({ sha256: z.string(), bytes: z.number() })),
});

type Outcome = z.infer<typeof outcome>;
type Keyed = Pick<Artifact, 'digest'>;

const OUTCOME_FILE = 'built.json';

/**
 * The user's cache directory, by the XDG Base Directory Specification: what was built belongs to no single study, may be made again, and
 * is worth keeping for the next one.
 */
export const cacheDirectory = (env: Readonly<Record<string, string | undefined>> = process.env): string =>
  join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'tritune', 'variants');

const folderOf = (directory: string, { digest }: Keyed): string => join(directory, digest.slice(0, 32));

/** Returns where the command's output lies once it was built. */
export const outputOf = (directory: string, artifact: Keyed): string => join(folderOf(directory, artifact), 'output');

/** Returns where the build's log lies, whether or not it succeeded. */
export const logOf = (directory: string, { digest, variant }: Pick<Artifact, 'digest' | 'variant'>): string =>
  join(directory, `${variant}-${digest.slice(0, 12)}.log`);

/** Tells whether the build's outcome is there. */
export const isBuilt = (directory: string, artifact: Keyed): boolean =>
  existsSync(join(folderOf(directory, artifact), OUTCOME_FILE));

/** Returns what was built and is there unchanged; null for nothing. */
export async function builtFiles(directory: string, artifact: Keyed): Promise<Record<string, LocalFile> | null> {
  const known = outcomeIn(folderOf(directory, artifact));
  if (known === null) return null;
  const output = outputOf(directory, artifact);
  const files = Object.entries(known.files).map(([name, file]) => [name, { path: join(output, name), ...file }]);
  return Object.fromEntries(files) as Record<string, LocalFile>;
}

function outcomeIn(folder: string): Outcome | null {
  try {
    return outcome.parse(JSON.parse(readFileSync(join(folder, OUTCOME_FILE), 'utf8')));
  } catch {
    return null;
  }
}

/** A fresh empty output directory beside the cache's, and what makes it the cache's. */
export interface Draft {
  readonly output: string;
  /** Keeps what is in the output, whole or not at all; where another run was faster, its outcome stands. */
  keep(seconds: number): Promise<void>;
  discard(): Promise<void>;
}

/** Begins an entry of the cache. */
export async function beginDraft(directory: string, artifact: Keyed): Promise<Draft> {
  const folder = folderOf(directory, artifact);
  const draft = `${folder}.${process.pid}.part`;
  const output = join(draft, 'output');
  await rm(draft, { recursive: true, force: true });
  await mkdir(output, { recursive: true });
  const discard = (): Promise<void> => rm(draft, { recursive: true, force: true });
  return {
    output,
    discard,
    keep: async (seconds) => {
      const entries = await readdir(output, { recursive: true, withFileTypes: true });
      const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
      const files: Outcome['files'] = {};
      for (const path of paths.sort()) files[relative(output, path).split(sep).join('/')] = await contentOf(path);
      await writeFile(join(draft, OUTCOME_FILE), JSON.stringify({ seconds, files } satisfies Outcome));
      // What a changed or damaged entry holds was not taken for the outcome above.
      await rm(folder, { recursive: true, force: true });
      await rename(draft, folder).catch(async (error: unknown) => {
        await discard();
        if (outcomeIn(folder) === null) throw error;
      });
    },
  };
}

async function contentOf(path: string): Promise<Outcome['files'][string]> {
  const content = await readFile(path);
  return { sha256: sha256Of(content), bytes: content.length };
}

/** Returns the SHA-256 digest in hexadecimal. */
export const sha256Of = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex');
