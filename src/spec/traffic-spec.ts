import { z } from 'zod';
import type { ReadOnly } from './read-only.ts';

const text = z.string();
const positiveWhole = z.int().positive();

const wholeRange = z
  .strictObject({ low: z.int(), high: z.int() })
  .refine(({ low, high }) => low <= high, 'a range must not end before it begins');

/** What is sent. */
export const requestSpec = z.strictObject({
  batch: positiveWhole.default(1).describe('Samples in one request'),
  inputData: z.array(text.min(1)).optional().describe('zero, random, or paths of data files; random if not given'),
  shape: z
    .record(text, z.array(z.int().nonnegative()))
    .optional()
    .describe('Shapes of inputs whose dimensions are open, without the batch'),
  integers: wholeRange.optional().describe('Range of random integers; 0 to 99 if not given'),
  stringData: text.optional().describe('What every string is, in place of random letters'),
  stringLength: positiveWhole.optional().describe('Letters of a random string; 128 if not given'),
  outputTolerance: z
    .number()
    .positive()
    .optional()
    .describe('How far a float of a reply may be from the expected one, relative to 1 or more'),
  requestParameter: z
    .array(
      z.discriminatedUnion('type', [
        z.strictObject({ name: text.min(1), type: z.literal('bool'), value: z.boolean() }),
        z.strictObject({ name: text.min(1), type: z.enum(['int', 'double']), value: z.number() }),
        z.strictObject({ name: text.min(1), type: z.literal('string'), value: text }),
      ]),
    )
    .optional()
    .describe('Parameters of every request'),
  sequenceLength: positiveWhole.optional().describe('Requests in a sequence, for models with sequence batching'),
  sequenceLengthVariation: z
    .number()
    .min(0)
    .max(100)
    .optional()
    .describe('Per cent by which lengths differ from sequenceLength; 20 if not given'),
  sequenceIds: wholeRange.optional().describe('Range of correlation ids'),
});

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
  agents: z.array(text.min(1)).min(1).optional().describe('HOST:PORT of agents that send, in place of this machine'),
  agentTokenFile: text.min(1).optional().describe('File with the token of the agents'),
  agentTokenEnv: text.min(1).optional().describe('Environment variable with it'),
  agentTls: z.boolean().optional().describe('Speak TLS with the agents, as any other option about it does'),
  agentTlsCa: text.min(1).optional().describe("PEM file with the CA that signed the agents' certificates"),
  agentTlsCert: text.min(1).optional().describe('PEM file with our certificate for the agents'),
  agentTlsKey: text.min(1).optional().describe('PEM file with the key of agentTlsCert'),
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

export type RequestSpec = ReadOnly<z.infer<typeof requestSpec>>;
export type TransportSpec = ReadOnly<z.infer<typeof transportSpec>>;
export type AgentsSpec = ReadOnly<z.infer<typeof agentsSpec>>;
export type ClientSpec = ReadOnly<z.infer<typeof clientSpec>>;
export type TrafficSpec = ReadOnly<z.infer<typeof trafficSpec>>;
