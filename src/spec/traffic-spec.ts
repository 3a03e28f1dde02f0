import { z } from 'zod';
import type { ReadOnly } from '#base/read-only.ts';
import { requestSpec } from '#workload/request-spec.ts';

const text = z.string().min(1);
const positiveWhole = z.int().positive();

export const compressions = ['none', 'gzip', 'deflate'] as const;
export const tensorFormats = ['binary', 'json'] as const;
export const sharedMemoryKinds = ['none', 'system', 'cuda'] as const;

/** How requests travel, beyond the protocol. */
export const transportSpec = z.strictObject({
  streaming: z.boolean().optional().describe('Send requests over gRPC streams, as decoupled models need'),
  compression: z.enum(compressions).optional().describe('Compression of requests'),
  tensorFormat: z.enum(tensorFormats).optional().describe('Encoding of tensors over HTTP'),
  sharedMemory: z.enum(sharedMemoryKinds).optional().describe('Shared memory to pass tensors in'),
  outputSharedMemorySize: positiveWhole.optional().describe('Shared memory for an output of unknown size, in bytes'),
});

/**
 * Agents on other machines that send instead of this one. Files are named, never their contents.
 */
export const agentsSpec = z.strictObject({
  agents: z
    .array(text)
    .min(1)
    .optional()
    .describe('HOST:PORT of the agents that send the load instead of this machine'),
  agentTokenFile: text.optional().describe('File with the token of the agents'),
  agentTokenEnv: text.optional().describe('Environment variable with the token of the agents'),
  agentTls: z.boolean().optional().describe('Use TLS with the agents; the other agentTls options imply it'),
  agentTlsCa: text.optional().describe("PEM file of the CA that signed the agents' certificates"),
  agentTlsCert: text.optional().describe('PEM file of the client certificate for the agents'),
  agentTlsKey: text.optional().describe('PEM file of the key of agentTlsCert'),
  agentPlaintext: z.boolean().optional().describe('Send the token to other machines without TLS'),
  agentClockLimitMs: z
    .number()
    .positive()
    .optional()
    .describe("Largest uncertainty of an agent's clock, in milliseconds; 25 by default"),
});

/** The resources that the load generator may use, and the faults that it tolerates. */
export const clientSpec = z.strictObject({
  clientThreads: positiveWhole
    .optional()
    .describe('Threads that send requests, on each agent if there are agents; 1 by default'),
  maxErrors: z
    .int()
    .nonnegative()
    .optional()
    .describe('Failed requests after which a load level ends and does not count'),
  ...agentsSpec.shape,
});

/** The requests of a study: their content, their transport, and their sender. */
export const trafficSpec = z.strictObject({
  ...requestSpec.shape,
  ...transportSpec.shape,
  ...clientSpec.shape,
  requestTimeoutSeconds: z
    .number()
    .positive()
    .max(24 * 3600)
    .optional()
    .describe('Longest time that one request may take, in seconds; 30 by default, longer for language models'),
  clientBatch: positiveWhole
    .optional()
    .describe(
      'Largest number of samples that your clients send in one request: no config takes less; without it no config takes less than the original one',
    ),
});

export type TransportSpec = ReadOnly<z.infer<typeof transportSpec>>;
export type AgentsSpec = ReadOnly<z.infer<typeof agentsSpec>>;
export type ClientSpec = ReadOnly<z.infer<typeof clientSpec>>;
export type TrafficSpec = ReadOnly<z.infer<typeof trafficSpec>>;
