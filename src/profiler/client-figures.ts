import { z } from 'zod';
import type { ReadOnly } from '#base/read-only.ts';
import { count, figure, openObject, text } from '#base/schema.ts';

export const clientTimes = openObject({
  requests: count.describe('requests in the sample'),
  marshalUs: figure.describe('mean time to make the bytes of a request'),
  sendUs: figure.describe('mean time until the kernel has taken them'),
  waitUs: figure.describe('mean time until the first bytes of the reply'),
  receiveUs: figure.describe('mean time until its last bytes'),
  unmarshalUs: figure.describe('mean time to read them'),
}).meta({ id: 'clientTimes', description: "parts of a request's time in the load generator" });

/**
 * The consecutive parts of a request's time on the client's side: means over a sample of the
 * successful requests, in microseconds, as defined by `ClientTimes` of the load generator.
 */
export type ClientTimesUs = ReadOnly<z.output<typeof clientTimes>>;

export const client = openObject({
  cpuUsPerRequest: figure.describe('CPU time of one request, in microseconds'),
  besideCpuShare: figure.optional().describe('CPU of the other threads of the process; 1 is one core'),
  gcMs: figure.optional().describe('garbage collection in the sending threads'),
  tailShiftMs: figure.optional().describe('most that pauses of the sending threads added to the budgeted percentile'),
  itlShiftMs: figure.optional().describe('the same for the inter-token latency'),
  eventLoopDelayMs: figure.describe('longest delay of a due timer'),
  bound: z.boolean().default(false).describe('whether the load generator was the limit'),
  reason: text.optional().describe('why it was'),
  starved: z.boolean().optional().describe('whether other processes had the CPU that it lacked'),
  unheldRate: openObject({
    by: z.enum(['client', 'server', 'machine']).describe('who kept the rate from being held'),
    reason: text.describe('why'),
  })
    .optional()
    .describe('absent if the rate was held, and in a closed loop'),
  agents: z
    .array(
      openObject({
        address: text.describe('HOST:PORT'),
        version: text.describe('its version of tritune'),
        cores: figure.describe('cores that it may use'),
        threads: figure.describe('threads that sent'),
        clock: openObject({
          offsetMs: figure.describe('offset to this machine at the start of the windows'),
          uncertaintyMs: figure.describe('uncertainty of the offset'),
          driftMs: figure.describe('drift until their end'),
          driftUncertaintyMs: figure.describe('uncertainty of the drift'),
        }).describe('its clock, in milliseconds'),
        cpuShare: figure.describe('CPU of its busiest thread; 1 is one core'),
        eventLoopDelayMs: figure.describe('longest delay of a due timer'),
        sends: figure.optional().describe('requests that it had to send; absent in a closed loop'),
        lateSends: figure.optional().describe('requests sent more than a millisecond late'),
        droppedSends: figure.optional().describe('requests not sent'),
        sendLatenessP50Us: figure.optional().describe('upper bound of the median lateness of sends'),
        bound: z.boolean().describe('whether it was the limit'),
        reason: text.optional().describe('why it was'),
        starved: z.boolean().optional().describe('whether other processes had the CPU that it lacked'),
      }),
    )
    .optional()
    .describe('figures of each agent'),
}).meta({ id: 'client', description: 'what the load generator used' });

/** Resources that the load generator used. */
export type ClientFigures = ReadOnly<z.output<typeof client>>;

/** Why many requests of a schedule were sent late or not at all. */
export type UnheldRate = NonNullable<ClientFigures['unheldRate']>;

/** One agent that sent its part of the requests. */
export type AgentFigures = NonNullable<ClientFigures['agents']>[number];
