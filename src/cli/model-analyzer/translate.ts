import { TrituneError } from '#base/errors.ts';
import type { SeriesOptions } from '#spec/series-fields.ts';
import type { Protocol } from '#spec/server-spec.ts';
import type { AnalyzerSettings, FlatStudyOptions, IgnoredKey } from '#spec/tune-options.ts';
import type { SamplerName } from '#study/search/samplers/registry.ts';
import { composedSpace } from './composing.ts';
import { type Concurrent, concurrentStudy } from './concurrent.ts';
import { flagOptions } from './flags.ts';
import { goalOptions } from './goal.ts';
import { ignoreKeys } from './ignored.ts';
import { batchOptions, loadOptions } from './levels.ts';
import type { ReadFile } from './read-file.ts';
import type { AnalyzerFile, Ignore, ModelSettings } from './schema.ts';
import { serverOptions } from './server.ts';

/** The contents of a Model Analyzer file as our options. */
export interface Translation {
  readonly models: readonly string[];
  /** Options for the whole run. */
  readonly common: Partial<Omit<SeriesOptions, 'model' | 'space' | 'candidates' | 'latencyBudget'>>;
  /** Options for each model. */
  readonly optionsByModel: ReadonlyMap<string, Partial<FlatStudyOptions>>;
  readonly ignored: readonly IgnoredKey[];
  /** True if the models share the server: one study of all, under the name of the first. */
  readonly together: boolean;
}

/** The parts of the command line that the translation depends on. */
export interface NamedOptions {
  readonly protocol: Protocol | undefined;
  readonly percentile: number | undefined;
  /** The models to tune; undefined for all of the file. */
  readonly models: readonly string[] | undefined;
}

const samplers: Readonly<Record<'brute' | 'quick' | 'optuna', SamplerName>> = {
  brute: 'grid',
  quick: 'hill-climb',
  optuna: 'tpe',
};

/**
 * Errors: INPUT_INVALID with the path of the key; UNSUPPORTED for settings whose omission would
 * change the run.
 */
export function translate(read: ReadFile, namedOptions: NamedOptions): Translation {
  const { file, content } = read;
  refuseTokens(content);
  const byKey = new Map<string, IgnoredKey>();
  const ignore: Ignore = (key, reason) => {
    if (!byKey.has(key)) byKey.set(key, { key, reason });
  };
  const protocol = namedOptions.protocol ?? content.client_protocol ?? 'grpc';
  const mode = content.run_config_search_mode ?? 'brute';
  const models = namedOptions.models ?? [...read.models.keys()];
  for (const name of read.models.keys()) {
    if (!models.includes(name)) ignore(`profile_models.${name}`, 'the command line names other models');
  }
  ignoreKeys(content, '', ignore);
  let tls = {};
  const ownStudies = models.map((name) => {
    const settings = read.models.get(name) ?? {};
    ignoreKeys(settings, `profile_models.${name}.`, ignore);
    ignoreKeys(settings.parameters ?? {}, `profile_models.${name}.parameters.`, ignore);
    const at = settings.perf_analyzer_flags ? ['profile_models', name, 'perf_analyzer_flags'] : ['perf_analyzer_flags'];
    const flags = settings.perf_analyzer_flags ?? content.perf_analyzer_flags ?? {};
    const { tls: secure, requests } = flagOptions(flags, protocol, { file, at, ignore });
    tls = { ...tls, ...secure };
    return { name, requests, ...toStudy(read, name, settings, namedOptions.percentile, ignore) };
  });
  ignoreUnused(content, ownStudies, ignore);
  const common = {
    sampler: samplers[mode],
    ...serverOptions(content, protocol, new Map(models.map((name) => [name, read.models.get(name) ?? {}])), ignore),
    ...tls,
    ...(content.export_path !== undefined && { output: content.export_path }),
    ...(mode === 'optuna' && content.optuna_max_trials !== undefined && { maxTrials: content.optuna_max_trials }),
  };
  const called = [...read.called.keys()];
  const toOptions = ({
    name,
    requests,
    options,
    analyzer,
  }: (typeof ownStudies)[number]): Partial<FlatStudyOptions> => ({
    ...requests,
    ...options,
    modelAnalyzer: { file, ignored: [], ...analyzer },
    ...(called.length > 0 && { blsComposing: { [name]: called } }),
  });
  const alone = ownStudies.map((each): Concurrent & { readonly name: string } => ({
    name: each.name,
    options: toOptions(each),
    weighting: read.models.get(each.name)?.weighting,
  }));
  const isTogether = content.run_config_profile_models_concurrently_enable === true && models.length > 1;
  ignoreTogether(read, isTogether, ignore);
  const studies = isTogether
    ? [[models[0] ?? '', concurrentStudy(alone, ignore)] as const]
    : alone.map(({ name, options }) => [name, options] as const);
  const ignored = [...byKey.values()];
  const withIgnored = (options: Partial<FlatStudyOptions>): Partial<FlatStudyOptions> =>
    options.modelAnalyzer ? { ...options, modelAnalyzer: { ...options.modelAnalyzer, ignored } } : options;
  return {
    models,
    common,
    ignored,
    together: isTogether,
    optionsByModel: new Map(studies.map(([name, options]) => [name, withIgnored(options)])),
  };
}

/** Records the keys that only concern models profiled at the same time. */
function ignoreTogether({ content, models }: ReadFile, isTogether: boolean, ignore: Ignore): void {
  if (isTogether) return;
  if (content.run_config_profile_models_concurrently_enable)
    ignore('run_config_profile_models_concurrently_enable', 'there is one model only');
  for (const [name, { weighting }] of models)
    if (weighting !== undefined)
      ignore(`profile_models.${name}.weighting`, 'models are tuned one after another: none is traded for another');
}

interface Study {
  readonly options: Partial<FlatStudyOptions>;
  /** True if the file lists the values to try. */
  readonly isListed: boolean;
  readonly analyzer: Pick<AnalyzerSettings, 'space' | 'levels' | 'earlyExits'>;
}

function toStudy(
  read: ReadFile,
  name: string,
  settings: ModelSettings,
  percentile: number | undefined,
  ignore: Ignore,
): Study {
  const { content } = read;
  const load = loadOptions(read, name, settings);
  const { batch, batchSize } = batchOptions(read, name, settings, load, ignore);
  const { levels: listed, ...range } = load;
  // Lists of both mean a search for the best pair.
  const levels = batchSize ? undefined : listed;
  // Tries all values that a person has listed, unless they ask for less.
  const isBrute = (content.run_config_search_mode ?? 'brute') === 'brute';
  const isListed =
    content.run_config_search_disable === true || (isBrute && settings.model_config_parameters !== undefined);
  const earlyExits = !isListed || content.early_exit_enable === true;
  return {
    isListed,
    options: { batch, ...(batchSize && { batchSize }), ...range, ...goalOptions(content, settings, percentile) },
    analyzer: {
      space: composedSpace(read, name, settings, batchSize?.low ?? batch),
      ...(levels && { levels }),
      earlyExits,
    },
  };
}

/** Records the keys that do not apply to this file. */
function ignoreUnused(content: AnalyzerFile, studies: readonly Study[], ignore: Ignore): void {
  const searched = studies.filter(({ analyzer }) => analyzer.levels === undefined);
  const unless = (isUsed: boolean, keys: readonly (keyof AnalyzerFile & string)[], reason: string): void => {
    for (const key of isUsed ? [] : keys) if (content[key] !== undefined) ignore(key, reason);
  };
  const ends = (what: string) => [`run_config_search_min_${what}`, `run_config_search_max_${what}`];
  unless(
    searched.some(({ options }) => options.concurrency),
    ends('concurrency'),
    'no concurrency is searched for',
  );
  unless(
    searched.some(({ options }) => options.requestRate),
    ends('request_rate'),
    'no request rate is searched for',
  );
  const space = [...ends('instance_count'), ...ends('model_batch_size')];
  unless(!studies.every(({ isListed }) => isListed), space, 'every model has values of its own');
  const isBrute = (content.run_config_search_mode ?? 'brute') === 'brute';
  const listed = studies.some(({ isListed }) => isListed);
  unless(isBrute && listed, ['early_exit_enable'], 'it is about listed values under the brute search');
  unless(content.run_config_search_mode === 'optuna', ['optuna_max_trials'], 'it is about the optuna search');
}

/** Errors: UNSUPPORTED for a model whose figures would be about tokens. */
function refuseTokens({ model_type: type }: AnalyzerFile): void {
  if (type?.toLowerCase() !== 'llm') return;
  throw new TrituneError(
    'UNSUPPORTED',
    'model_type LLM is not read from a file of Model Analyzer',
    'use tritune tune --endpoint for a language model, or leave it out to tune by request latency',
  );
}
