import { canonicalJson, isJsonObject, type Json } from '../base/json.ts';
import { type ConfigDifference, compareConfigs } from '../triton/config/comparison.ts';
import { composingModels } from '../triton/config/ensemble-rules.ts';
import type { ModelConfig } from '../triton/config/model-config.ts';
import { artifactOf, describeArtifact, withoutMark } from './artifact.ts';
import { namedSettings, settingsOf } from './engine/candidate.ts';
import { documentOf, modelConfigOf, modelConfigsOf, otherConfigsOf } from './model-configs.ts';
import type { Candidate } from './types.ts';

/** Where two candidates differ. */
export type Difference = ConfigDifference;

/** Names of instance groups: the server gives them. */
const MADE_UP = /^instance_group\[\d+\]\.name$/;

/**
 * Returns where two candidates differ, field by field in alphabetical order, as people read it; with the models' names where there are several.
 * All that a model has which only one of them sets is a difference.
 */
export function differencesOf(
  before: Pick<Candidate, 'value'>,
  after: Pick<Candidate, 'value'>,
): readonly Difference[] {
  const [a, b] = [modelConfigsOf(before), modelConfigsOf(after)];
  const models = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort();
  const settings = settingsDifferences(before, after);
  if (models.length === 0) return settings ?? plainDifferences(documentOf(before), documentOf(after));
  if (Object.keys(a).length === 1 && Object.keys(b).length === 1) {
    // One instead of the other: its name is a difference like the others.
    const files = settings ?? filesDifference(before, after);
    return [...differencesOfModel(modelConfigOf(before), modelConfigOf(after)), ...files];
  }
  const configs = models.flatMap((model): Difference[] => {
    const [own, other] = [a[model] ?? otherConfigsOf(before)[model], b[model] ?? otherConfigsOf(after)[model]];
    // An ensemble stands in a candidate only where it had to follow its models; elsewhere it is as it was.
    if (!(own && other) && composingModels(own ?? other ?? {}).length > 0) return [];
    const found = differencesOfModel(own ?? {}, other ?? {});
    return models.length === 1 ? [...found] : found.map((each) => ({ ...each, path: `${model}: ${each.path}` }));
  });
  return [...configs, ...filesDifference(before, after)];
}

const differencesOfModel = (before: ModelConfig, after: ModelConfig): readonly Difference[] =>
  compareConfigs(withoutMark(before), withoutMark(after)).filter(({ path }) => !MADE_UP.test(path));

/** Where the two are not served from the same files: `variant`, with what each is. */
function filesDifference(before: Pick<Candidate, 'value'>, after: Pick<Candidate, 'value'>): Difference[] {
  const [a, b] = [artifactOf(before), artifactOf(after)];
  if (a?.digest === b?.digest) return [];
  return [{ path: 'variant', ...(a && { before: describeArtifact(a) }), ...(b && { after: describeArtifact(b) }) }];
}

/** The settings of an engine by their names; undefined for candidates of servers that have no such settings. */
function settingsDifferences(
  before: Pick<Candidate, 'value'>,
  after: Pick<Candidate, 'value'>,
): readonly Difference[] | undefined {
  const [a, b] = [settingsOf(before), settingsOf(after)];
  return a && b && plainDifferences(namedSettings(a), namedSettings(b));
}

/** The differences of values that hold no models. */
function plainDifferences(before: Json | undefined, after: Json | undefined, path = ''): Difference[] {
  if (isJsonObject(before) && isJsonObject(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
    return names.flatMap((name) => plainDifferences(before[name], after[name], path === '' ? name : `${path}.${name}`));
  }
  if (canonicalJson(before ?? null) === canonicalJson(after ?? null)) return [];
  return [{ path, ...(before !== undefined && { before }), ...(after !== undefined && { after }) }];
}
