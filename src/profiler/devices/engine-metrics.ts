import type { PageAccess } from './metrics-page.ts';
import { metricsPage } from './metrics-page.ts';
import type { MetricSample } from './prometheus.ts';

/** One reading of the scheduler figures on an engine's metrics page. */
export interface EngineReading {
  readonly runningSequences?: number;
  readonly waitingSequences?: number;
  readonly kvCacheShare?: number;
  /** Since the engine started. */
  readonly preemptions?: number;
}

/** Reads an engine's state once; null if nothing can be read. Never throws. */
export type EngineProbe = (signal: AbortSignal) => Promise<EngineReading | null>;

type Read = (samples: readonly MetricSample[]) => number | undefined;

const named = (samples: readonly MetricSample[], names: readonly string[]): readonly number[] =>
  samples.filter(({ name, value }) => names.includes(name) && Number.isFinite(value)).map(({ value }) => value);

/** Sums over the engines of one server. */
const createSumReader =
  (...names: readonly string[]): Read =>
  (samples) => {
    const values = named(samples, names);
    return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0);
  };

const createMeanReader =
  (...names: readonly string[]): Read =>
  (samples) => {
    const values = named(samples, names);
    return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length;
  };

/** The value of TensorRT-LLM's family of this name in Triton with the label `what`. */
const labelled =
  (family: string, what: string): Read =>
  (samples) =>
    createSumReader(family)(samples.filter(({ labels }) => Object.values(labels).includes(what)));

/**
 * Names of each figure on the pages; the first one found is used: vLLM (its own page, and Triton's
 * with its backend; the KV cache's name changed in 0.10), SGLang, llama.cpp, and Triton's
 * TensorRT-LLM backend.
 */
const figures: Readonly<Record<keyof EngineReading, readonly Read[]>> = {
  runningSequences: [
    createSumReader('vllm:num_requests_running'),
    createSumReader('sglang:num_running_reqs'),
    createSumReader('llamacpp:requests_processing'),
    labelled('nv_trt_llm_request_metrics', 'scheduled'),
  ],
  waitingSequences: [
    createSumReader('vllm:num_requests_waiting'),
    createSumReader('sglang:num_queue_reqs'),
    createSumReader('llamacpp:requests_deferred'),
    labelled('nv_trt_llm_request_metrics', 'waiting'),
  ],
  kvCacheShare: [
    createMeanReader('vllm:kv_cache_usage_perc', 'vllm:gpu_cache_usage_perc'),
    createMeanReader('sglang:token_usage'),
    createMeanReader('llamacpp:kv_cache_usage_ratio'),
    labelled('nv_trt_llm_kv_cache_block_metrics', 'fraction'),
  ],
  preemptions: [
    createSumReader('vllm:num_preemptions_total', 'vllm:num_preemptions'),
    createSumReader('sglang:num_retractions_total'),
  ],
};

/** Returns the engine's figures on a page; null if the page has none. */
export function engineReading(samples: readonly MetricSample[]): EngineReading | null {
  const means = Object.entries(figures).flatMap(([field, reads]) => {
    const value = reads.map((read) => read(samples)).find((each) => each !== undefined);
    return value === undefined ? [] : [[field, value] as const];
  });
  return means.length === 0 ? null : (Object.fromEntries(means) as EngineReading);
}

/** Returns a probe of the Prometheus page of an engine, or of the Triton that it runs in. */
export function engineProbe(url: string, model: string, access?: PageAccess): EngineProbe {
  const page = metricsPage(url, model, access);
  return async (signal) => {
    const samples = await page(signal);
    return samples && engineReading(samples);
  };
}
