import { canonicalJson, isJsonObject, type Json } from '#base/json.ts';
import { lookUp } from '#base/look-up.ts';
import { type ConfigDifference, compareConfigs } from '#triton/config/comparison.ts';
import { composingModels } from '#triton/config/ensemble-rules.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { describeArtifact, toArtifact, withoutMark } from './artifact.ts';
import { namedSettings, readSettings } from './engine-candidate.ts';
import { toDocument, toModelConfig, toModelConfigs, toOtherConfigs } from './model-configs.ts';
import type { Candidate } from './types.ts';

/** Where two candidates differ. */
export type Difference = ConfigDifference;

/** Names of instance groups: the server gives them. */
const MADE_UP = /^instance_group\[\d+\]\.name$/;

/**
 * Returns the differences between two candidates in readable form, field by field in alphabetical
 * order; with the models' names if there are several. If only one candidate sets a model, all of
 * its fields are differences.
 */
export function listDifferences(
  before: Pick<Candidate, 'value'>,
  after: Pick<Candidate, 'value'>,
): readonly Difference[] {
  const [a, b] = [toModelConfigs(before), toModelConfigs(after)];
  const models = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort();
  const settings = settingsDifferences(before, after);
  if (models.length === 0) return settings ?? plainDifferences(toDocument(before), toDocument(after));
  if (Object.keys(a).length === 1 && Object.keys(b).length === 1) {
    // A replaced file: its name is a difference like the others.
    const files = settings ?? filesDifference(before, after);
    return [...differencesOfModel(toModelConfig(before), toModelConfig(after)), ...files];
  }
  const configs = models.flatMap((model): Difference[] => {
    const [config, other] = [
      lookUp(a, model) ?? lookUp(toOtherConfigs(before), model),
      lookUp(b, model) ?? lookUp(toOtherConfigs(after), model),
    ];
    // A candidate holds an ensemble only if it had to follow its models; otherwise the ensemble is
    // unchanged.
    if (!(config && other) && composingModels(config ?? other ?? {}).length > 0) return [];
    const differences = differencesOfModel(config ?? {}, other ?? {});
    return models.length === 1
      ? [...differences]
      : differences.map((each) => ({ ...each, path: `${model}: ${each.path}` }));
  });
  return [...configs, ...filesDifference(before, after)];
}

const differencesOfModel = (before: ModelConfig, after: ModelConfig): readonly Difference[] =>
  compareConfigs(withoutMark(before), withoutMark(after)).filter(({ path }) => !MADE_UP.test(path));

/**
 * Returns the difference if the two are served from different files: `variant`, with a description
 * of each.
 */
function filesDifference(before: Pick<Candidate, 'value'>, after: Pick<Candidate, 'value'>): Difference[] {
  const [a, b] = [toArtifact(before), toArtifact(after)];
  if (a?.digest === b?.digest) return [];
  return [{ path: 'variant', ...(a && { before: describeArtifact(a) }), ...(b && { after: describeArtifact(b) }) }];
}

/**
 * Returns the differences of an engine's settings by name; undefined for candidates of servers
 * without such settings.
 */
function settingsDifferences(
  before: Pick<Candidate, 'value'>,
  after: Pick<Candidate, 'value'>,
): readonly Difference[] | undefined {
  const [a, b] = [readSettings(before), readSettings(after)];
  return a && b && plainDifferences(namedSettings(a), namedSettings(b));
}

/** Returns the differences of values without models. */
function plainDifferences(before: Json | undefined, after: Json | undefined, path = ''): Difference[] {
  if (isJsonObject(before) && isJsonObject(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
    return names.flatMap((name) =>
      plainDifferences(lookUp(before, name), lookUp(after, name), path === '' ? name : `${path}.${name}`),
    );
  }
  if (canonicalJson(before ?? null) === canonicalJson(after ?? null)) return [];
  return [{ path, ...(before !== undefined && { before }), ...(after !== undefined && { after }) }];
}
