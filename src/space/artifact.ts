import type { JsonObject } from '../base/json.ts';
import type { ModelConfig } from '../triton/config/model-config.ts';

/** The files that a variant of a model is served from, and how they come to be. */
export interface Artifact {
  /** The variant's name in the search space. */
  readonly variant: string;
  /** The SHA-256 of all that its files depend on, in hexadecimal: equal for equal content, wherever it lies. */
  readonly digest: string;
  /** Local files by their place in the model's directory, such as `1/model.onnx`. */
  readonly files: { readonly [place: string]: LocalFile };
  /** What makes the other files; absent where all of them are there. */
  readonly build?: BuildRecipe;
}

export interface LocalFile {
  /** Absolute. */
  readonly path: string;
  readonly sha256: string;
  readonly bytes: number;
  /** What stands in it, where it lies nowhere. */
  readonly text?: string;
}

/** A program that writes the files of a variant into a directory. */
export interface BuildRecipe {
  /** A program and its arguments, or a line for the shell. */
  readonly command: readonly string[] | string;
  /** Where it runs; absolute. */
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
  /** What the outcome depends on: they must be what they were when the study began. */
  readonly inputs: readonly LocalFile[];
  readonly timeoutSeconds: number;
  /** How long it is thought to take; 0 where its outcome is in the cache. */
  readonly seconds: number;
  /** Places in the model's directory and the files in the output directory that go there; null for all as they lie. */
  readonly outputs: Readonly<Record<string, string>> | null;
}

/**
 * The config's parameter that names what was uploaded. Triton (2.51) takes an upload with the config that it has for a change in place and
 * drops the files: with this parameter other files have another config, and a config read back tells which files are served.
 */
export const MARK = 'tritune_variant';

/** What the parameter says: the variant's name, and the start of its digest. */
export const markOf = ({ variant, digest }: Pick<Artifact, 'variant' | 'digest'>): string =>
  `${variant} ${digest.slice(0, 12)}`;

/** Returns what the candidate's files are; undefined where it is served from those that the server has. */
export const artifactOf = ({ value }: { readonly value: JsonObject }): Artifact | undefined =>
  value.artifact as unknown as Artifact | undefined;

/** Returns the artifact as a candidate's value holds it. */
export const artifactToJson = (artifact: Artifact): JsonObject => artifact as unknown as JsonObject;

/** Returns the config as people write one: without the mark. */
export function withoutMark({ parameters, ...config }: ModelConfig): ModelConfig {
  if (parameters === undefined) return config;
  const { [MARK]: _, ...others } = parameters as JsonObject;
  return { ...config, ...(Object.keys(others).length > 0 && { parameters: others }) } as ModelConfig;
}

/** Tells what the artifact is in a few words: `int8 (1/model.onnx 1.2 MB)`. */
export function describeArtifact({ variant, files, build }: Artifact): string {
  const listed = Object.entries(files).map(([place, { bytes }]) => `${place} ${(bytes / 1e6).toPrecision(2)} MB`);
  return `${variant} (${[...listed, ...(build ? ['built'] : [])].join(', ')})`;
}
