import { z } from 'zod';
import type { ReadOnly } from '#base/read-only.ts';
import { count, figure, openObject, text } from '#base/schema.ts';

export const serverFields = {
  queueUs: figure.describe('mean time in the queue'),
  computeInputUs: figure.describe('mean time for the inputs'),
  computeInferUs: figure.describe('mean time for the inference'),
  computeOutputUs: figure.describe('mean time for the outputs'),
  overheadUs: figure.describe("the rest of the server's request time"),
  requestUs: figure.describe('mean time of a successful request in the server'),
  successCount: count.describe('successful requests'),
  inferenceCount: count.describe('inferences'),
  executionCount: count.describe('executions'),
  failCount: count.describe('failed requests'),
  cache: openObject({
    hitCount: count.describe('hits'),
    hitUs: figure.describe('mean time of a hit'),
    missCount: count.describe('misses'),
    missUs: figure.describe('mean time of a miss'),
  }).describe('the response cache'),
  batches: z
    .array(
      openObject({
        size: count.describe('batch size'),
        executions: count.describe('executions'),
        meanExecutionUs: figure.describe('mean time of one'),
      }),
    )
    .describe('executions by batch size'),
};

export const server = openObject(serverFields).meta({
  id: 'serverStatistics',
  description: "the server's statistics of the counted windows",
});

/** The server's statistics of the same windows: mean times per request, in microseconds. */
export type ServerBreakdown = ReadOnly<z.output<typeof server>>;

export const device = openObject({
  gpuUtilizationPercent: figure.optional().describe('mean utilization of the GPUs'),
  gpuMemoryMiB: figure.optional().describe('memory in use, all GPUs together'),
  gpuPowerW: figure.optional().describe('mean power, all GPUs together'),
  cpuUtilizationPercent: figure.optional().describe("utilization of the server's host"),
  gpus: z
    .array(
      openObject({
        uuid: text.describe('its identifier'),
        utilizationPercent: figure.optional().describe('mean utilization'),
        powerW: figure.optional().describe('mean power in watts'),
        clockMhz: figure.optional().describe('mean clock of its multiprocessors'),
        memoryBytes: figure.optional().describe('most memory in use'),
        memoryTotalBytes: figure.optional().describe('its memory'),
        otherProcesses: z.array(text).optional().describe("programs beside Triton's that used it, by name"),
      }),
    )
    .optional()
    .describe('figures of each GPU'),
}).meta({ id: 'device', description: "means from the server's metrics page; what it lacks is absent" });

/**
 * Means over the windows of figures from the metrics endpoint; a field is absent if the server does
 * not report it.
 */
export type DeviceMetrics = ReadOnly<z.output<typeof device>>;

/** One GPU: means of utilisation, power and clock, and the largest memory in use. */
export type GpuMetrics = NonNullable<DeviceMetrics['gpus']>[number];
