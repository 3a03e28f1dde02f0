import { z } from 'zod';
import { TrituneError } from '#base/errors.ts';
import type { JsonObject } from '#base/json.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';

/** The files that a variant of a model is served from, and how they are made. */
export interface Artifact {
  /** The variant's name in the search space. */
  readonly variant: string;
  /**
   * The SHA-256 of everything that its files depend on, in hexadecimal: equal for equal content in
   * any folder.
   */
  readonly digest: string;
  /** Local files by their place in the model's directory, such as `1/model.onnx`. */
  readonly files: { readonly [place: string]: LocalFile };
  /** The build of the other files; absent if all of them exist. */
  readonly build?: BuildRecipe;
}

export interface LocalFile {
  /** Absolute. */
  readonly path: string;
  readonly sha256: string;
  readonly bytes: number;
  /** Its content, if it is not on disk. */
  readonly text?: string;
}

/** A program that writes the files of a variant into a directory. */
export interface BuildRecipe {
  /** A program and its arguments, or a line for the shell. */
  readonly command: readonly string[] | string;
  /** Its working directory; absolute. */
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
  /** The files that the outcome depends on: they must be the same as when the study began. */
  readonly inputs: readonly LocalFile[];
  readonly timeoutSeconds: number;
  /** The expected duration; 0 if its outcome is in the cache. */
  readonly seconds: number;
  /**
   * Places in the model's directory, each with its file in the output directory; null to keep all
   * as they lie.
   */
  readonly outputs: Readonly<Record<string, string>> | null;
}

/**
 * The config's parameter that names the uploaded files. Triton (2.51) treats an upload with its
 * current config as a change in place and drops the files. With this parameter other files have
 * another config, and a config read back shows which files are served.
 */
export const MARK = 'tritune_variant';

/** Returns the parameter's value: the variant's name, and the start of its digest. */
export const formatMark = ({ variant, digest }: Pick<Artifact, 'variant' | 'digest'>): string =>
  `${variant} ${digest.slice(0, 12)}`;

/** Returns the candidate's files; undefined if it is served from the server's own. */
export const toArtifact = ({ value }: { readonly value: JsonObject }): Artifact | undefined =>
  value.artifact as unknown as Artifact | undefined;

const localFile = z.object({ path: z.string(), sha256: z.string(), bytes: z.number(), text: z.string().optional() });
const artifactForm = z.object({
  variant: z.string(),
  digest: z.string().regex(/^[0-9a-f]{12,64}$/),
  files: z.record(z.string(), localFile),
  build: z
    .object({ outputs: z.record(z.string(), z.string()).nullable(), inputs: z.array(localFile) })
    .loose()
    .optional(),
});

/**
 * Does the same for a candidate of a journal. Errors: JOURNAL_INVALID for files in another form.
 */
export function findCheckedArtifact(candidate: { readonly value: JsonObject }): Artifact | undefined {
  const artifact = toArtifact(candidate);
  if (artifact === undefined) return undefined;
  const { error } = artifactForm.safeParse(artifact);
  if (!error) return artifact;
  const message = `the files of a variant in the journal are damaged: ${z.prettifyError(error)}`;
  throw new TrituneError('JOURNAL_INVALID', message, 'use a journal that tritune wrote');
}

/** Returns the artifact in the form of a candidate's value. */
export const artifactToJson = (artifact: Artifact): JsonObject => artifact as unknown as JsonObject;

/** Returns the config as people write one: without the mark. */
export function withoutMark({ parameters, ...config }: ModelConfig): ModelConfig {
  if (parameters === undefined) return config;
  const { [MARK]: _, ...others } = parameters as JsonObject;
  return { ...config, ...(Object.keys(others).length > 0 && { parameters: others }) } as ModelConfig;
}

/** Returns a short description of the artifact: `int8 (1/model.onnx 1.2 MB)`. */
export function describeArtifact({ variant, files, build }: Artifact): string {
  const listed = Object.entries(files).map(([place, { bytes }]) => `${place} ${(bytes / 1e6).toPrecision(2)} MB`);
  return `${variant} (${[...listed, ...(build ? ['built'] : [])].join(', ')})`;
}
