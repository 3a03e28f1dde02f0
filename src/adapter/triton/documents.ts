import { join } from 'node:path';
import { canonicalJson, type Json } from '#base/json.ts';
import { lookUp } from '#base/look-up.ts';
import { type Artifact, findCheckedArtifact, type LocalFile, withoutMark } from '#space/artifact.ts';
import { toModelConfigs } from '#space/model-configs.ts';
import type { Candidate } from '#space/types.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { printConfigText } from '#triton/config/printer.ts';
import type { Emitted } from '#tuner/adapter.ts';
import { localPlaces, writtenPlaces } from '../variants/artifacts.ts';
import { cacheDirectory } from '../variants/cache.ts';

const CONFIG_FILE = 'config.pbtxt';

/** What may be read for the documents of a candidate with files. */
interface Readable {
  /** The variants of the run's own space file; none for a run that only its journal describes. */
  readonly artifacts?: readonly Artifact[];
  readonly cache?: string;
}

/**
 * Returns a candidate in the form of a model repository: `MODEL/config.pbtxt` for each of its
 * models, as it is loaded. `model`: the name for a config without one. `formatSegment`: returns a
 * model's name as one safe path segment. Includes the files of a variant in their places; those of
 * the model itself if the server has them. No file is read because a candidate of a journal names
 * it.
 */
export function configDocuments(
  candidate: Candidate,
  model: string,
  formatSegment: (model: string) => string,
  { artifacts = [], cache = cacheDirectory() }: Readable = {},
): readonly Emitted[] {
  const configs = Object.entries(toModelConfigs(candidate));
  const texts = configs.map(([key, config]) => {
    const name = key || model;
    return { path: join(formatSegment(name), CONFIG_FILE), text: emittedConfig(config, name) };
  });
  const said = findCheckedArtifact(candidate);
  if (!said) return texts;
  const isKnown = artifacts.some((known) => areSameFiles(said, known));
  const formatPath = (place: string): string => `${formatSegment(model)}${place === '' ? '' : `/${place}`}`;
  return [
    ...texts,
    ...[...writtenPlaces(said)].map(([place, text]) => ({ path: formatPath(place), text })),
    ...[...localPlaces(said, cache)].map(([place, { path: file, sha256 }]) => ({
      path: formatPath(place),
      ...(isKnown ? { source: file } : { was: file }),
      ...(sha256 !== undefined && { sha256 }),
    })),
  ];
}

/**
 * True if the files are those of a variant, and made as it says. A language model's settings may be
 * one more file.
 */
function areSameFiles(said: Artifact, known: Artifact): boolean {
  const isSame = ([place, { path, sha256, text }]: [string, LocalFile]): boolean =>
    text !== undefined || (lookUp(known.files, place)?.path === path && lookUp(known.files, place)?.sha256 === sha256);
  const build = (of: Artifact): string => canonicalJson((of.build ?? null) as unknown as Json);
  return said.variant === known.variant && build(said) === build(known) && Object.entries(said.files).every(isSame);
}

/**
 * Returns the path of the best config of a model in a study's directory; `segment` is the model's
 * name as one safe path segment.
 */
export const bestConfigPath = (directory: string, segment: string): string =>
  join(directory, 'best', segment, CONFIG_FILE);

/**
 * Returns the text of the config with the model's name, and without the instance names that the
 * server generates.
 */
export function emittedConfig(config: ModelConfig, model: string): string {
  const groups = config.instance_group?.map(({ name: _, ...group }) => group);
  return printConfigText({ ...withoutMark(config), name: model, ...(groups && { instance_group: groups }) });
}
