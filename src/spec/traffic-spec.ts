import { z } from 'zod';
import type { ReadOnly } from '../base/read-only.ts';
import { requestSpec } from '../workload/request-spec.ts';

const positiveWhole = z.int().positive();

export const compressions = ['none', 'gzip', 'deflate'] as const;
export const tensorFormats = ['binary', 'json'] as const;
export const sharedMemoryKinds = ['none', 'system', 'cuda'] as const;

/** How requests travel, beyond the protocol. */
export const transportSpec = z.strictObject({
  streaming: z.boolean().optional().describe('Send requests on long-lived gRPC streams, as decoupled models need'),
  compression: z.enum(compressions).optional().describe('How the bytes of requests are compressed'),
  tensorFormat: z.enum(tensorFormats).optional().describe('How tensors go over HTTP'),
  sharedMemory: z.enum(sharedMemoryKinds).optional().describe('Memory in which tensors lie instead of travelling'),
  outputSharedMemorySize: positiveWhole.optional().describe('Bytes in shared memory for an output of any size'),
});

/** What the load generator may take, and bear. */
export const clientSpec = z.strictObject({
  clientThreads: positiveWhole.optional().describe('Threads that send, each over its own connections; 1 if not given'),
  maxErrors: z
    .int()
    .nonnegative()
    .optional()
    .describe('Failed requests after which a load level ends and does not count'),
});

/** The requests of a study: what is sent, how it travels, and who sends it. */
export const trafficSpec = z.strictObject({ ...requestSpec.shape, ...transportSpec.shape, ...clientSpec.shape });

export type TransportSpec = ReadOnly<z.infer<typeof transportSpec>>;
export type ClientSpec = ReadOnly<z.infer<typeof clientSpec>>;
export type TrafficSpec = ReadOnly<z.infer<typeof trafficSpec>>;
