import { z } from 'zod';
import type { RequestLimits } from '#queueing/continuous/request-limits.ts';
import { BUCKETS } from '#stats/histogram.ts';
import type { TlsOptions } from '#triton/wire/tls.ts';
import type { ArrivalPlan } from '#workload/arrival-plan.ts';
import type { OpenAiEndpoint, TritonEndpoint } from '../endpoints/endpoint.ts';
import type { OpenLoopRule } from '../open-loop.ts';
import type { Part } from '../paced-part.ts';
import type { PacerLimit } from '../pacers.ts';
import type { PlainHttpRequest } from '../plain-http.ts';
import type { BatchRule } from '../recorder.ts';
import type { SendOrder } from '../sender.ts';
import type { SequenceRule } from '../sequences.ts';
import type { LoadLevel } from '../types.ts';
import type { InferTransport, LanguageTransport, PlainHttpTransport } from '../workers/messages.ts';

/**
 * Messages between a controller and its agents: what a controller sends is complete and exact; what
 * an agent sends, in the parts that the controller acts on.
 */

/** Any number except NaN: a batch without a limit has an infinite one. */
export const figure = z.custom<number>(
  (value) => typeof value === 'number' && !Number.isNaN(value),
  'expected a number',
);
export const whole = z.int().nonnegative();
const time = z.number();
const count = z.number().nonnegative();
const positive = z.number().positive();
const address = z.string().max(1000);
/** Node's timers are no longer. */
const milliseconds = z
  .number()
  .nonnegative()
  .max(2 ** 31 - 1);
const bytes = z.instanceof(Uint8Array);

/**
 * An object with exactly the fields of the type: a new option without a schema does not compile.
 */
const exactly = <T extends object>(shape: { readonly [K in keyof Required<T>]: z.ZodType }) => z.strictObject(shape);

const headers = z.array(z.strictObject({ name: z.string(), value: z.string() }));
const tls = exactly<TlsOptions>({
  ca: bytes.optional(),
  cert: bytes.optional(),
  key: bytes.optional(),
  servername: z.string().max(1000).optional(),
  verify: z.boolean(),
}).optional();

const endpoint = z.union([
  exactly<OpenAiEndpoint>({
    kind: z.enum(['openai-chat', 'openai-completions', 'openai-responses', 'anthropic-messages']),
    path: z.string(),
    saysUsage: z.boolean(),
    canIgnoreEnd: z.boolean(),
    lengthField: z.literal('max_completion_tokens').optional(),
    isWhole: z.boolean().optional(),
  }),
  exactly<TritonEndpoint>({
    kind: z.enum(['triton-generate', 'triton-grpc']),
    version: z.string(),
    // What else a server says of an input is left out.
    inputs: z.array(z.object({ name: z.string(), datatype: z.string(), shape: z.array(z.number()) })),
    output: z.string(),
  }),
]);

export const transport = z.discriminatedUnion('protocol', [
  exactly<InferTransport>({
    protocol: z.enum(['grpc', 'http']),
    options: exactly<Omit<InferTransport['options'], 'sharedOutputs'> & { readonly sharedOutputs?: undefined }>({
      url: address,
      timeoutMs: milliseconds,
      headers: headers.optional(),
      tls,
      compression: z.enum(['gzip', 'deflate']).optional(),
      timesRequests: z.boolean().optional(),
      tensorFormat: z.enum(['binary', 'json']).optional(),
      streaming: z.boolean().optional(),
      sharedOutputs: z.undefined().optional(),
    }),
    tolerance: z.number().nonnegative().optional(),
    // Agents do not report single requests.
    observes: z.literal(false).optional(),
  }),
  exactly<PlainHttpTransport>({
    protocol: z.literal('plain-http'),
    options: exactly<PlainHttpTransport['options']>({
      address,
      tls,
      timeoutMs: milliseconds,
      keepsAlive: z.boolean(),
      refusalsFail: z.boolean().optional(),
    }),
    request: exactly<PlainHttpRequest>({
      method: z.string(),
      host: z.string(),
      target: z.string(),
      headers,
      body: bytes.nullable(),
    }),
    secrets: headers,
  }),
  exactly<LanguageTransport>({
    protocol: z.literal('language'),
    options: exactly<LanguageTransport['options']>({
      address,
      host: z.string(),
      model: z.string(),
      endpoint,
      timeoutMs: milliseconds,
      headers,
      tls,
      // The text of a request, which nothing here reads.
      extra: z.record(z.string(), z.unknown()).optional(),
    }),
    observes: z.literal(false).optional(),
  }),
]);

const part = z
  .strictObject({ index: whole, of: z.int().positive() })
  .refine(({ index, of }: Part) => index < of, 'there is no such part');

const requestLimits = exactly<RequestLimits>({
  ttftNs: figure.optional(),
  itlNs: figure.optional(),
  tpotNs: figure.optional(),
  e2eNs: figure.optional(),
}).optional();

/** A rate that a pacer can keep. */
const perSecond = positive.max(1e9);
const limit = exactly<PacerLimit>({ requests: figure.optional(), durationNs: figure.optional() }).optional();
const times = z.union([z.array(z.number()), z.instanceof(Float64Array)]);
const schedule = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('constant'), perSecond, limit }),
  z.strictObject({ kind: z.literal('poisson'), perSecond, seed: z.number(), limit }),
  z.strictObject({ kind: z.literal('intervals'), gapsNs: times, limit }),
  z.strictObject({ kind: z.literal('replay'), arrivalsNs: times, speed: positive, limit }),
  z.strictObject({
    kind: z.literal('ramp'),
    fromPerSecond: count.max(1e9),
    toPerSecond: count.max(1e9),
    overNs: positive,
    limit,
  }),
  z.strictObject({ kind: z.literal('bursts'), size: z.int().positive().max(1e9), periodNs: positive, limit }),
  z.strictObject({
    kind: z.literal('arrivals'),
    plan: exactly<ArrivalPlan>({
      arrivalsNs: z.instanceof(Float64Array),
      classOf: z.instanceof(Uint16Array),
      classes: z.array(z.string()),
      durationNs: positive,
    }),
    limit,
  }),
]);

const order = exactly<Omit<SendOrder, 'requests'>>({
  sequences: exactly<SequenceRule>({
    length: positive.optional(),
    variation: count,
    ids: z.strictObject({ low: whole, high: whole }),
    asText: z.boolean().optional(),
    seed: z.number(),
    firstStream: whole.optional(),
  }).optional(),
  level: exactly<LoadLevel>({
    mode: z.enum(['concurrency', 'request-rate']),
    value: positive,
    batch: positive.optional(),
  }),
  schedule: schedule.optional(),
  openLoop: exactly<Partial<OpenLoopRule>>({ maxInFlight: positive.optional(), lateNs: figure.optional() }).optional(),
  mostRequests: figure.optional(),
  limits: requestLimits,
});

const rule = exactly<BatchRule>({
  lengthNs: figure,
  minRequests: count,
  inStepWithNs: time.optional(),
  part: part.optional(),
  // More often than this would take the whole thread.
  watchEveryNs: z.number().min(1e5).optional(),
});

const ask = whole;
const flow = whole;

/**
 * Commands and questions for an agent's thread. Requests and readings of the watch have their own
 * messages.
 */
export const commandOrQuestion = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('start'), flow, startNs: time }),
  z.strictObject({ type: z.literal('record'), flow, recording: whole, rule, startNs: time.nullable() }),
  z.strictObject({ type: z.literal('stop-recording'), flow }),
  z.strictObject({
    type: z.literal('begin'),
    ask,
    flow,
    set: whole,
    order,
    part,
    nullServer: z.string().optional(),
  }),
  z.strictObject({ type: z.literal('leave-null-server'), ask }),
  z.strictObject({ type: z.literal('close-batch'), ask, flow }),
  z.strictObject({ type: z.literal('take-tally'), ask, flow }),
  z.strictObject({ type: z.literal('drain'), ask, flow, limitMs: milliseconds }),
]);

const histogram = z.strictObject({
  cells: z
    .instanceof(Uint32Array)
    .refine((cells) => cells.length % 2 === 0 && cells.length <= 2 * BUCKETS, 'expected pairs of buckets and counts')
    .refine((cells) => cells.every((cell, at) => at % 2 === 1 || cell < BUCKETS), 'there is no such bucket'),
  sumNs: figure,
  minNs: figure,
  maxNs: figure,
});

const unserved = z.strictObject({ sinceNs: time, message: z.string() }).nullable();
const state = z.strictObject({ failedSoFar: count, unserved, due: count.nullable() });
const failures = z.array(z.strictObject({ kind: z.string(), count, firstMessage: z.string() })).max(1000);
const tokenTimes = z.looseObject({ ttft: histogram, ttftFromDue: histogram, itl: histogram, tpot: histogram });

const batch = z.looseObject({
  startNs: time,
  endNs: time,
  succeeded: count,
  failed: count,
  failures: failures.optional(),
  responses: count,
  sequences: count,
  latencies: histogram,
  fromDue: histogram.nullable(),
  tokens: tokenTimes.optional(),
  classes: z.array(z.strictObject({ failed: count, good: count, latencies: histogram })).optional(),
  heldUp: z
    .strictObject({
      pauses: z.array(z.strictObject({ startNs: time, lengthNs: count, gcNs: count })),
      runQueueNs: z.number().nullable(),
      threads: count,
    })
    .optional(),
});

/** Unsolicited reports of an agent's thread; the agent reports a failed thread. */
export const reportOfThread = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('batch'), flow, recording: whole, batch, state, sentSoFar: count }),
  z.strictObject({ type: z.literal('state'), flow, recording: whole, state }),
]);

/** Thread answers that are merged with those of other threads. */
export const answerOfThread = {
  begin: z.null(),
  'leave-null-server': z.null(),
  'close-batch': z.null(),
  'take-tally': z
    .strictObject({
      sent: count,
      late: count,
      dropped: count,
      // By class; classes that dropped nothing may be missing.
      droppedOf: z.array(count.nullable().transform((dropped) => dropped ?? 0)),
      lateness: histogram,
    })
    .nullable(),
  drain: z.strictObject({ left: count, sent: count, mostInFlight: count }),
} as const;

/** Resource use of the threads of one agent. */
export const clientUse = z.looseObject({
  cpuUs: count,
  besideShare: count.optional(),
  cpuShare: count,
  loopShare: count,
  longestDelayMs: count,
  medianDelayMs: count,
});
