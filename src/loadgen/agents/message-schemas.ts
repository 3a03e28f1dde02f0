import { z } from 'zod';
import { BUCKETS } from '../../stats/histogram.ts';

/**
 * The parts of messages between a controller and its agents that either side acts on itself. Everything else goes to code of the same version: it
 * is plain data, and if it is wrong, the threads that receive it fail.
 */

/** Any number except NaN: a batch without a limit has an infinite one. */
export const figure = z.custom<number>(
  (value) => typeof value === 'number' && !Number.isNaN(value),
  'expected a number',
);
export const whole = z.int().nonnegative();
const time = z.number();
const count = z.number().nonnegative();
const address = z.string().max(1000);

export const transport = z.discriminatedUnion('protocol', [
  z.strictObject({
    protocol: z.enum(['grpc', 'http']),
    options: z.looseObject({ url: address, sharedOutputs: z.undefined().optional() }),
    tolerance: z.number().nonnegative().optional(),
  }),
  z.strictObject({
    protocol: z.literal('plain-http'),
    options: z.looseObject({ address }),
    request: z.looseObject({}),
    secrets: z.array(z.looseObject({ name: z.string(), value: z.string() })),
  }),
  z.strictObject({ protocol: z.literal('language'), options: z.looseObject({ address }) }),
]);

const part = z.strictObject({ index: whole, of: z.int().positive() });

const order = z.looseObject({
  level: z.looseObject({ mode: z.enum(['concurrency', 'request-rate']), value: z.number().positive() }),
});

const rule = z.looseObject({ lengthNs: figure, minRequests: count, inStepWithNs: time.optional() });

const ask = whole;
const flow = whole;

/** Commands and questions for an agent's thread. Requests and readings of the watch have their own messages. */
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
  z.strictObject({ type: z.literal('drain'), ask, flow, limitMs: count }),
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
