import type { FlatStudyOptions, NumberRange } from '#spec/tune-options.ts';
import { invalid, type ReadFile } from './read-file.ts';
import type { Ignore, ModelSettings } from './schema.ts';

export interface AnalyzerLoad extends Pick<FlatStudyOptions, 'concurrency' | 'requestRate'> {
  /** The levels in rising order, if the file lists them. */
  readonly levels?: readonly number[];
}

/**
 * Returns the load levels of a model: those listed for it or in the file, else the range to search.
 * Errors: INPUT_INVALID for two kinds of load.
 */
export function loadOptions(read: ReadFile, name: string, { parameters }: ModelSettings): AnalyzerLoad {
  const { file, content } = read;
  const ownConcurrency = parameters?.concurrency ?? parameters?.request_rate;
  const { concurrency, request_rate: rate } = ownConcurrency ? (parameters ?? {}) : content;
  if (concurrency && rate) {
    const at = ownConcurrency ? ['profile_models', name, 'parameters', 'request_rate'] : ['request_rate'];
    throw invalid(file, at, 'load levels are either concurrencies or request rates');
  }
  if (concurrency) return { concurrency: toRange(concurrency), levels: rising(concurrency) };
  if (rate) return { requestRate: toRange(rate), levels: rising(rate) };
  const { run_config_search_min_request_rate: lowRate, run_config_search_max_request_rate: highRate } = content;
  if (content.request_rate_search_enable || lowRate !== undefined || highRate !== undefined) {
    return { requestRate: searchRange(read, 'request_rate') };
  }
  if (content.run_config_search_disable) return { concurrency: toRange([1]), levels: [1] };
  return { concurrency: searchRange(read, 'concurrency') };
}

/** Model Analyzer's own limits of the search. */
const defaults = { concurrency: { low: 1, high: 1024 }, request_rate: { low: 16, high: 8192 } };

function searchRange({ file, content }: ReadFile, kind: keyof typeof defaults): NumberRange {
  const low = content[`run_config_search_min_${kind}`] ?? defaults[kind].low;
  const high = content[`run_config_search_max_${kind}`] ?? defaults[kind].high;
  if (low <= high) return { low, high };
  throw invalid(file, [`run_config_search_max_${kind}`], `${high} is below the least, ${low}`);
}

const toRange = (values: readonly number[]): NumberRange => ({ low: Math.min(...values), high: Math.max(...values) });

const rising = (values: readonly number[]): readonly number[] => [...new Set(values)].sort((a, b) => a - b);

/**
 * Returns the samples per request: the single listed number, or the range of several, which is
 * searched together with the concurrency.
 */
export function batchOptions(
  { content }: ReadFile,
  name: string,
  { parameters }: ModelSettings,
  { concurrency }: AnalyzerLoad,
  ignore: Ignore,
): Pick<FlatStudyOptions, 'batchSize'> & { readonly batch: number } {
  const batch_sizes = parameters?.batch_sizes;
  const listed = batch_sizes ?? content.batch_sizes ?? [];
  const [batch = 1, ...others] = listed;
  if (others.length === 0) return { batch };
  const key = batch_sizes ? `profile_models.${name}.parameters.batch_sizes` : 'batch_sizes';
  if (!concurrency) {
    ignore(key, `at a request rate requests have one size, here ${batch}; for ${others.join(', ')} run again with -b`);
    return { batch };
  }
  return { batch: 1, batchSize: toRange(listed) };
}
