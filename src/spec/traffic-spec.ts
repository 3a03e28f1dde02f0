import { z } from 'zod';
import type { ReadOnly } from '../base/read-only.ts';
import { requestSpec } from '../workload/request-spec.ts';

const text = z.string().min(1);
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

/** Agents on other machines that send in place of this one. Files are named, never their contents. */
export const agentsSpec = z.strictObject({
  agents: z.array(text).min(1).optional().describe('HOST:PORT of agents that send, in place of this machine'),
  agentTokenFile: text.optional().describe('File with the token of the agents'),
  agentTokenEnv: text.optional().describe('Environment variable with it'),
  agentTls: z.boolean().optional().describe('Speak TLS with the agents, as any other option about it does'),
  agentTlsCa: text.optional().describe("PEM file with the CA that signed the agents' certificates"),
  agentTlsCert: text.optional().describe('PEM file with our certificate for the agents'),
  agentTlsKey: text.optional().describe('PEM file with the key of agentTlsCert'),
  agentPlaintext: z.boolean().optional().describe('Show the token to agents on other machines without TLS'),
  agentClockLimitMs: z
    .number()
    .positive()
    .optional()
    .describe("How far an agent's clock may be off, in milliseconds; 25 if not given"),
});

/** What the load generator may take, and bear. */
export const clientSpec = z.strictObject({
  clientThreads: positiveWhole
    .optional()
    .describe('Threads that send, each over its own connections, of each agent where agents send; 1 if not given'),
  maxErrors: z
    .int()
    .nonnegative()
    .optional()
    .describe('Failed requests after which a load level ends and does not count'),
  ...agentsSpec.shape,
});

/** The requests of a study: what is sent, how it travels, and who sends it. */
export const trafficSpec = z.strictObject({ ...requestSpec.shape, ...transportSpec.shape, ...clientSpec.shape });

export type TransportSpec = ReadOnly<z.infer<typeof transportSpec>>;
export type AgentsSpec = ReadOnly<z.infer<typeof agentsSpec>>;
export type ClientSpec = ReadOnly<z.infer<typeof clientSpec>>;
export type TrafficSpec = ReadOnly<z.infer<typeof trafficSpec>>;
