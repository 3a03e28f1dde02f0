import { modelsIn } from '#spec/series-fields.ts';
import type { FlatStudyOptions } from '#spec/tune-options.ts';
import type { SeriesFlags } from '../commands/tune/series-options.ts';
import type { Terminal } from '../terminal.ts';
import { readAnalyzerFile } from './read-file.ts';
import { translate } from './translate.ts';

/** Options that override these options of the file: the address of the server and the load. */
const replaced: Partial<Record<keyof FlatStudyOptions, readonly (keyof FlatStudyOptions)[]>> = {
  concurrency: ['requestRate'],
  batch: ['batchSize'],
  batchSize: ['batch'],
  requestRate: ['concurrency'],
  url: ['launch', 'serverArg', 'dockerArg', 'controlUrl', 'metricsUrl'],
  launch: ['url', 'controlUrl', 'metricsUrl'],
};

/** `optionsFor` weighs values given for one of several models against the file's. */
const byModel: ReadonlySet<string> = new Set(['constraint', 'inputData', 'shape', 'latencyBudget']);

/**
 * Returns the options, completed from `--model-analyzer-config`, and lists the file's keys that are
 * ignored. A resumed run continues with its original options. Errors: those of `translate`.
 */
export function withAnalyzerFile(
  options: SeriesFlags,
  named: ReadonlySet<string>,
  terminal: Pick<Terminal, 'tell'>,
): SeriesFlags {
  const { modelAnalyzerConfig: file } = options;
  if (file === undefined || options.resume !== undefined) return options;
  const { models, common, optionsByModel, ignored, together } = translate(readAnalyzerFile(file), {
    protocol: named.has('protocol') ? options.protocol : undefined,
    percentile: named.has('percentile') ? options.percentile : undefined,
    models: named.has('model') ? modelsIn(options) : undefined,
  });
  for (const { key, reason } of ignored) terminal.tell(`${file}: ${key} is ignored: ${reason}`);
  const taken = new Set<string>([...named].flatMap((key) => [key, ...(replaced[key as keyof FlatStudyOptions] ?? [])]));
  if (named.has('launch')) for (const key of uselessFor(options.launch)) taken.add(key);
  const omitTaken = <T extends object>(fields: T): Partial<T> =>
    Object.fromEntries(Object.entries(fields).filter(([key]) => byModel.has(key) || !taken.has(key))) as Partial<T>;
  const withoutLevels = (study: Partial<FlatStudyOptions>): Partial<FlatStudyOptions> => {
    if (!taken.has('concurrency') || !study.modelAnalyzer) return study;
    const { levels: _, ...modelAnalyzer } = study.modelAnalyzer;
    return { ...study, modelAnalyzer };
  };
  return {
    ...options,
    ...omitTaken(common),
    model: models,
    ...(together && { together: models }),
    modelOptions: Object.fromEntries(
      [...optionsByModel].map(([model, study]) => [model, omitTaken(withoutLevels(study))]),
    ),
  };
}

/** Returns the file's options for a server that the command line starts in another way. */
function uselessFor(launch: string | undefined): readonly (keyof FlatStudyOptions)[] {
  if (launch === 'docker') return [];
  return launch === 'local' ? ['dockerArg'] : ['serverArg', 'dockerArg'];
}
