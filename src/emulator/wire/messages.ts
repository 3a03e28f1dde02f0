import protobuf from 'protobufjs';
import type { JsonObject } from '#base/json.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import type { BatchStatistics, CudaMemoryRegion, ModelStatistics, SharedMemoryRegion } from '#triton/types.ts';
import { messageType } from '#triton/wire/proto.ts';
import type { LogValues } from '../log-settings.ts';
import type { TraceValues } from '../trace-settings.ts';

/** Statistics with the field names of the wire, which both protocols share. */
export function statisticsMessage(statistics: ModelStatistics): JsonObject {
  return {
    name: statistics.name,
    version: statistics.version,
    last_inference: statistics.lastInferenceMs,
    inference_count: statistics.inferenceCount,
    execution_count: statistics.executionCount,
    inference_stats: {
      success: { ...statistics.success },
      fail: { ...statistics.fail },
      queue: { ...statistics.queue },
      compute_input: { ...statistics.computeInput },
      compute_infer: { ...statistics.computeInfer },
      compute_output: { ...statistics.computeOutput },
      cache_hit: { ...statistics.cacheHit },
      cache_miss: { ...statistics.cacheMiss },
    },
    response_stats: {},
    batch_stats: statistics.batchStats.map(batchMessage),
    memory_usage: statistics.memoryUsage.map((use) => ({ type: use.type, id: use.id, byte_size: use.byteSize })),
  };
}

function batchMessage(batch: BatchStatistics): JsonObject {
  return {
    batch_size: batch.batchSize,
    compute_input: { ...batch.computeInput },
    compute_infer: { ...batch.computeInfer },
    compute_output: { ...batch.computeOutput },
  };
}

/** Returns a region with the field names of the wire, which both protocols share. */
export const regionMessage = ({ name, key, offset, byteSize }: SharedMemoryRegion): JsonObject => ({
  name,
  key,
  offset,
  byte_size: byteSize,
});

export const cudaRegionMessage = ({ name, deviceId, byteSize }: CudaMemoryRegion): JsonObject => ({
  name,
  device_id: deviceId,
  byte_size: byteSize,
});

/** Returns a TraceSettingResponse. */
export const traceSettingsMessage = (values: TraceValues): JsonObject => ({
  settings: Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value: [...value] }])),
});

/** The same over HTTP, where only the levels are a list. */
export const traceSettingsJson = (values: TraceValues): JsonObject =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, name === 'trace_level' ? [...value] : (value[0] ?? '')]),
  );

/** Returns a LogSettingsResponse. */
export const logSettingsMessage = (values: LogValues): JsonObject => ({
  settings: Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      if (typeof value === 'boolean') return [name, { bool_param: value }];
      return [name, typeof value === 'number' ? { uint32_param: value } : { string_param: value }];
    }),
  ),
});

declare global {
  interface JSON {
    /**
     * Returns a value that is written as this text (ECMA-262, since V8 11.4); TypeScript does not
     * know it yet.
     */
    rawJSON(text: string): JsonObject;
  }
}

/**
 * Returns a config as Triton prints it over HTTP: every plain field with its default, sub-messages
 * only where they are set, integers as digits, however many.
 */
export function configJson(config: ModelConfig): JsonObject {
  const type = messageType('ModelConfig');
  const full = type.toObject(type.fromObject(config), { defaults: true, enums: String, bytes: String });
  return asPrinted(full) as JsonObject;
}

function asPrinted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asPrinted);
  if (value instanceof protobuf.util.Long) return JSON.rawJSON(String(value));
  if (value === null || typeof value !== 'object') return value;
  const kept = Object.entries(value).filter(([, field]) => field !== null && field !== undefined);
  return Object.fromEntries(kept.map(([key, field]) => [key, asPrinted(field)]));
}
