import { join } from 'node:path';
import { artifactOf, withoutMark } from '../../space/artifact.ts';
import { modelConfigsOf } from '../../space/model-configs.ts';
import type { Candidate } from '../../space/types.ts';
import type { ModelConfig } from '../../triton/config/model-config.ts';
import { printConfigText } from '../../triton/config/printer.ts';
import type { EmittedCopy, EmittedDocument } from '../../tuner/adapter.ts';
import { localPlaces, writtenPlaces } from './variants/artifacts.ts';
import { cacheDirectory } from './variants/cache.ts';

const CONFIG_FILE = 'config.pbtxt';

/**
 * Returns a candidate in the form of a model repository: `MODEL/config.pbtxt` for each of its models, as it is loaded. `model`: the name for a
 * config without one. `segmentOf`: returns a model's name as one safe path segment. Includes the files of a variant in their places; those of the
 * model itself if the server has them.
 */
export function configDocuments(
  candidate: Candidate,
  model: string,
  segmentOf: (model: string) => string,
  cache: string = cacheDirectory(),
): readonly (EmittedDocument | EmittedCopy)[] {
  const configs = Object.entries(modelConfigsOf(candidate));
  const texts = configs.map(([key, config]) => {
    const name = key || model;
    return { path: join(segmentOf(name), CONFIG_FILE), text: emittedConfig(config, name) };
  });
  const artifact = artifactOf(candidate);
  const places = artifact ? localPlaces(artifact, cache) : [];
  const written = artifact ? writtenPlaces(artifact) : [];
  return [
    ...texts,
    ...[...written].map(([place, text]) => ({ path: join(segmentOf(model), place), text })),
    ...[...places].map(([place, source]) => ({ path: join(segmentOf(model), place), source })),
  ];
}

/** Returns the path of the best config of a model in a study's directory; `segment` is the model's name as one safe path segment. */
export const bestConfigPath = (directory: string, segment: string): string =>
  join(directory, 'best', segment, CONFIG_FILE);

/** Returns the text of the config with the model's name, and without the instance names that the server generates. */
export function emittedConfig(config: ModelConfig, model: string): string {
  const groups = config.instance_group?.map(({ name: _, ...group }) => group);
  return printConfigText({ ...withoutMark(config), name: model, ...(groups && { instance_group: groups }) });
}
