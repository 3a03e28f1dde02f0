import { join } from 'node:path';
import type { Clock } from '#base/clock.ts';
import { formatMessage } from '#base/errors.ts';
import { listed } from '#base/format.ts';
import { fileLimits, readBytes } from '#base/read-file.ts';
import { MS_PER_S, nsToMs } from '#base/units.ts';
import type { Artifact, BuildRecipe, LocalFile } from '#space/artifact.ts';
import type { ModelFiles } from '#triton/types.ts';
import { CandidateRefusedError } from '#tuner/refused.ts';
import { BuildFault, runBuild } from './build.ts';
import { beginDraft, builtFiles, formatLog, hashSha256, toOutputPath } from './cache.ts';

/** The files of variants, built if they do not exist yet. */
export interface Artifacts {
  /**
   * Returns the files of a variant and their build time; 0 if they existed. Errors: a
   * CandidateRefusedError of the kind `build-failed`; INTERRUPTED, or the signal's reason.
   */
  prepareFiles(artifact: Artifact, signal: AbortSignal): Promise<PreparedFiles>;
}

export interface PreparedFiles {
  readonly files: ModelFiles;
  readonly buildMs: number;
}

interface ArtifactsOptions {
  readonly clock: Clock;
  /** The directory of built files (`cacheDirectory`). */
  readonly cache: string;
  /** Called when a build begins, with its log. */
  readonly onBuild?: (variant: string, log: string) => void;
}

/**
 * Returns variants' files, with built ones from a cache. A study does not repeat a failed build.
 */
export function createArtifacts({ clock, cache, onBuild = () => undefined }: ArtifactsOptions): Artifacts {
  const failed = new Map<string, string>();

  /** Returns the milliseconds that it took. */
  async function build(artifact: Artifact, recipe: BuildRecipe, signal: AbortSignal): Promise<number> {
    const log = formatLog(cache, artifact);
    const startNs = clock.nowNs();
    const draft = await beginDraft(cache, artifact);
    try {
      onBuild(artifact.variant, log);
      await runBuild(recipe, draft.output, log, signal);
      const buildMs = nsToMs(clock.nowNs() - startNs);
      await draft.keep(buildMs / MS_PER_S);
      return buildMs;
    } finally {
      await draft.discard();
    }
  }

  async function built(artifact: Artifact, recipe: BuildRecipe, signal: AbortSignal): Promise<PreparedFiles> {
    const there = await unchanged(await builtFiles(cache, artifact));
    if (there !== null) return { files: placed(artifact, recipe, there), buildMs: 0 };
    for (const input of recipe.inputs) await readContent(artifact.variant, input);
    const buildMs = await build(artifact, recipe, signal);
    const fresh = await unchanged(await builtFiles(cache, artifact));
    return { files: placed(artifact, recipe, fresh ?? new Map()), buildMs };
  }

  return {
    prepareFiles: async (artifact, signal) => {
      const known = failed.get(artifact.digest);
      if (known !== undefined) throw buildFailed(known);
      try {
        const localParts = await localFiles(artifact);
        if (!artifact.build) return { files: localParts, buildMs: 0 };
        const { files, buildMs } = await built(artifact, artifact.build, signal);
        return { files: new Map([...files, ...localParts]), buildMs };
      } catch (error) {
        if (!(error instanceof BuildFault)) throw error;
        failed.set(artifact.digest, error.message);
        throw buildFailed(error.message);
      }
    },
  };
}

const buildFailed = (reason: string): CandidateRefusedError =>
  new CandidateRefusedError('build-failed', reason, { message: reason, hint: 'see the log of the build' });

/** Errors: as `readContent`. */
async function localFiles({ variant, files }: Artifact): Promise<Map<string, Uint8Array>> {
  const read = new Map<string, Uint8Array>();
  for (const [place, file] of Object.entries(files)) read.set(place, await readContent(variant, file));
  return read;
}

/** Errors: a BuildFault for a file that has changed since the study began. */
async function readContent(variant: string, { path, sha256, text }: LocalFile): Promise<Uint8Array> {
  if (text !== undefined) return Buffer.from(text);
  const content = await readBytes(path, fileLimits.artifact).catch((error: unknown) => {
    throw new BuildFault(`variant '${variant}': ${formatMessage(error)}`);
  });
  if (hashSha256(content) === sha256) return content;
  throw new BuildFault(`variant '${variant}': ${path} has changed since the study began`);
}

/** Returns the cached files if all are unchanged; otherwise null. */
async function unchanged(files: Record<string, LocalFile> | null): Promise<Map<string, Uint8Array> | null> {
  if (files === null) return null;
  const read = new Map<string, Uint8Array>();
  for (const [name, { path, sha256 }] of Object.entries(files)) {
    const content = await readBytes(path, fileLimits.artifact).catch(() => null);
    if (content === null || hashSha256(content) !== sha256) return null;
    read.set(name, content);
  }
  return read;
}

/**
 * Returns the built files by their places in the model. Errors: a BuildFault if the command has not
 * written them.
 */
function placed(artifact: Artifact, { outputs }: BuildRecipe, built: ReadonlyMap<string, Uint8Array>): ModelFiles {
  const names = listed([...built.keys()]) || 'nothing';
  if (outputs === null) {
    const stray = [...built.keys()].find((name) => !/^\d+\/./.test(name));
    if (built.size > 0 && stray === undefined) return built;
    const reason =
      'files of a model lie in a version, such as $TRITUNE_OUTPUT/1/model.onnx; or name them under outputs';
    throw new BuildFault(`variant '${artifact.variant}': the build command wrote ${names}: ${reason}`);
  }
  return new Map(
    Object.entries(outputs).map(([place, name]) => {
      const content = built.get(name);
      if (content) return [place, content];
      throw new BuildFault(`variant '${artifact.variant}': the build command wrote no ${name}, but ${names}`);
    }),
  );
}

/** Returns the files of a variant that exist only in the journal, by their places in the model. */
export const writtenPlaces = ({ files }: Artifact): ReadonlyMap<string, string> =>
  new Map(Object.entries(files).flatMap(([place, { text }]) => (text === undefined ? [] : [[place, text] as const])));

/**
 * Returns the locations of a variant's other files on this machine, by their places in the model; a
 * build without outputs is one folder.
 */
export function localPlaces({ files, build, ...artifact }: Artifact, cache: string): ReadonlyMap<string, LocalPlace> {
  const lying = Object.entries(files).filter(([, { text }]) => text === undefined);
  const ownFiles = lying.map(([place, { path, sha256 }]) => [place, { path, sha256 }] as const);
  if (!build) return new Map(ownFiles);
  const output = toOutputPath(cache, artifact);
  const made: readonly (readonly [place: string, file: LocalPlace])[] =
    build.outputs === null
      ? [['', { path: output }]]
      : Object.entries(build.outputs).map(([place, name]) => [place, { path: join(output, name) }]);
  return new Map([...made, ...ownFiles]);
}

/** A file or folder of this machine, and what it contains if that is known. */
type LocalPlace = Pick<LocalFile, 'path'> & Partial<Pick<LocalFile, 'sha256'>>;
