import type { JsonObject } from '#base/json.ts';
import type { BatchStatistics, ModelStatistics, StatisticDuration } from '../types.ts';
import { countIn, messageIn, messagesIn, numberIn, textIn } from '../wire/replies.ts';

/** Returns one entry per version of the model, in ascending order of version. */
export function readStatistics(reply: JsonObject): readonly ModelStatistics[] {
  return messagesIn(reply, 'model_stats')
    .map(readModelStatistics)
    .sort((a, b) => Number(a.version) - Number(b.version));
}

function readModelStatistics(entry: JsonObject): ModelStatistics {
  const times = messageIn(entry, 'inference_stats');
  return {
    name: textIn(entry, 'name'),
    version: textIn(entry, 'version'),
    lastInferenceMs: numberIn(entry, 'last_inference'),
    inferenceCount: countIn(entry, 'inference_count'),
    executionCount: countIn(entry, 'execution_count'),
    success: durationIn(times, 'success'),
    fail: durationIn(times, 'fail'),
    queue: durationIn(times, 'queue'),
    computeInput: durationIn(times, 'compute_input'),
    computeInfer: durationIn(times, 'compute_infer'),
    computeOutput: durationIn(times, 'compute_output'),
    cacheHit: durationIn(times, 'cache_hit'),
    cacheMiss: durationIn(times, 'cache_miss'),
    batchStats: messagesIn(entry, 'batch_stats').map(readBatchStatistics),
    memoryUsage: messagesIn(entry, 'memory_usage').map((use) => ({
      type: textIn(use, 'type'),
      id: numberIn(use, 'id'),
      byteSize: numberIn(use, 'byte_size'),
    })),
  };
}

function readBatchStatistics(entry: JsonObject): BatchStatistics {
  return {
    batchSize: countIn(entry, 'batch_size'),
    computeInput: durationIn(entry, 'compute_input'),
    computeInfer: durationIn(entry, 'compute_infer'),
    computeOutput: durationIn(entry, 'compute_output'),
  };
}

function durationIn(message: JsonObject, field: string): StatisticDuration {
  const duration = messageIn(message, field);
  return { count: countIn(duration, 'count'), ns: Math.max(0, numberIn(duration, 'ns')) };
}
