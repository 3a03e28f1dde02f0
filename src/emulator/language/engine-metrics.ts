import type { LanguageEngine } from './engine.ts';
import type { BucketCounts } from './engine-figures.ts';

/** An engine with the served name of its model. */
export interface NamedEngine {
  readonly model: string;
  readonly engine: LanguageEngine;
}

type Sample = readonly [suffix: string, labels: string, value: number];

/**
 * Returns vLLM's Prometheus page (V1): names and units are those of `vllm/v1/metrics/loggers.py`.
 */
export function engineMetrics(engines: readonly NamedEngine[]): string {
  const each = (of: (engine: LanguageEngine) => number): Sample[] =>
    engines.map(({ model, engine }) => ['', formatLabels(model), of(engine)] as const);
  const buckets = (of: (engine: LanguageEngine) => BucketCounts): Sample[] =>
    engines.flatMap(({ model, engine }) => bucketSamples(model, of(engine)));
  const finished = engines.flatMap(({ model, engine }) =>
    [...engine.figures.finishedBy].map(
      ([reason, count]): Sample => ['_total', formatLabels(model, `,finished_reason="${reason}"`), count],
    ),
  );
  const total = (of: (engine: LanguageEngine) => number): Sample[] =>
    each(of).map(([, labels, value]) => ['_total', labels, value] as const);
  return [
    family(
      'gauge',
      'num_requests_running',
      'Requests in execution',
      each((e) => e.running),
    ),
    family(
      'gauge',
      'num_requests_waiting',
      'Requests that wait',
      each((e) => e.waiting),
    ),
    family(
      'gauge',
      'kv_cache_usage_perc',
      'KV cache in use, 1 is all',
      each((e) => e.kvCacheShare),
    ),
    family(
      'counter',
      'num_preemptions',
      'Preemptions',
      total((e) => e.preemptions),
    ),
    family(
      'counter',
      'prompt_tokens',
      'Prompt tokens',
      total((e) => e.figures.promptTokens),
    ),
    family(
      'counter',
      'generation_tokens',
      'Generated tokens',
      total((e) => e.figures.generationTokens),
    ),
    family(
      'counter',
      'prefix_cache_queries',
      'Tokens looked up',
      total((e) => e.figures.promptTokens),
    ),
    family(
      'counter',
      'prefix_cache_hits',
      'Tokens found',
      total((e) => e.figures.cachedTokens),
    ),
    family('counter', 'request_success', 'Requests that ended', finished),
    family(
      'histogram',
      'time_to_first_token_seconds',
      'Time to first token',
      buckets((e) => e.figures.ttftS),
    ),
    family(
      'histogram',
      'inter_token_latency_seconds',
      'Time between tokens',
      buckets((e) => e.figures.interTokenS),
    ),
    family(
      'histogram',
      'e2e_request_latency_seconds',
      'Time of a request',
      buckets((e) => e.figures.endToEndS),
    ),
    family(
      'histogram',
      'request_queue_time_seconds',
      'Time in the queue',
      buckets((e) => e.figures.queueS),
    ),
    family(
      'histogram',
      'iteration_tokens_total',
      'Tokens of a step',
      buckets((e) => e.figures.stepTokens),
    ),
  ]
    .flat()
    .map((line) => `${line}\n`)
    .join('');
}

const formatLabels = (model: string, more = ''): string => `{engine="0",model_name="${model}"${more}}`;

function family(
  type: 'counter' | 'gauge' | 'histogram',
  name: string,
  help: string,
  samples: readonly Sample[],
): string[] {
  const full = `vllm:${name}`;
  return [
    `# HELP ${full} ${help}`,
    `# TYPE ${full} ${type}`,
    ...samples.map(([suffix, labels, value]) => `${full}${suffix}${labels} ${value}`),
  ];
}

function bucketSamples(model: string, { bounds, cumulative, sum, count }: BucketCounts): Sample[] {
  return [
    ...bounds.map(
      (bound, index): Sample => ['_bucket', formatLabels(model, `,le="${bound}"`), cumulative[index] as number],
    ),
    ['_bucket', formatLabels(model, ',le="+Inf"'), count],
    ['_sum', formatLabels(model), sum],
    ['_count', formatLabels(model), count],
  ];
}
