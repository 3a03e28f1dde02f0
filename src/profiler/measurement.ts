import { z } from 'zod';
import type { ReadOnly } from '#base/read-only.ts';
import { count, figure, laterFigure, openObject, text } from '#base/schema.ts';
import { client, clientTimes } from './client-figures.ts';
import { budgetLatencyMs, classFields, interval, latencySummary, level, requestLatencies } from './figure-schemas.ts';
import { replies } from './http-replies.ts';
import { device, server, serverFields } from './server-figures.ts';
import { engine, tokens } from './token-figures.ts';

/** How well a request rate was kept. */
export const openLoop = openObject({
  scheduledLatencyMs: requestLatencies.describe('latencies from when requests were due'),
  lateSends: laterFigure.describe('requests sent more than a millisecond late'),
  droppedSends: laterFigure.describe('requests not sent because too many were in flight'),
  sendLatenessP50Us: laterFigure.describe('upper bound of the median lateness of sends'),
  achievedRate: laterFigure.describe('requests sent per second'),
  countedMs: z
    .array(openObject({ from: z.number().describe('its beginning'), to: z.number().describe('its end') }))
    .optional()
    .describe('the counted times since the schedule began'),
});

/** Further figures of an open loop. */
export type OpenLoopFigures = ReadOnly<z.output<typeof openLoop>>;

/**
 * A time in which completed requests were counted, from (exclusive) and to (inclusive) a
 * completion.
 */
export type CountedTimeMs = NonNullable<OpenLoopFigures['countedMs']>[number];

/** Figures of the requests of one class. */
export const requestClass = openObject(
  classFields({ count, interval, times: latencySummary, budgeted: budgetLatencyMs }),
).meta({ id: 'requestClass', description: 'figures of one request class' });

export type ClassFigures = ReadOnly<z.output<typeof requestClass>>;

const failure = openObject({
  kind: text.describe('kind of the failure; `dropped` for requests that were due and not sent'),
  count: count.describe('their number'),
  firstMessage: text.describe('message of the first'),
});

/** Figures of all requests, and of those of each front. */
const seen = openObject({
  level: level.describe('the load level'),
  throughput: interval.describe(
    'inferences per second; at a request rate the served share of the due requests, times that rate',
  ),
  latencyMs: requestLatencies,
  budgetLatencyMs,
  stable: z.boolean().describe('whether the intervals became as narrow as asked for'),
  durationMs: figure.describe('length of the counted windows'),
  requests: count.describe('requests that ended'),
  sendRate: laterFigure.describe('requests sent per second'),
  failures: z.array(failure).describe('failed requests by kind'),
  errorRate: figure.describe('failed requests among all, 0 to 1; those that were due and not sent count as failed'),
  server: z.nullable(server).describe("the server's statistics; null without usable ones"),
  serverNote: text.optional().describe('why there are no usable statistics'),
  composing: z
    .array(openObject({ model: text.describe('its name'), version: text.describe('its version'), ...serverFields }))
    .optional()
    .describe('statistics of the models that the model consists of or calls'),
  foreignRequests: figure.optional().describe('requests that the server counted and this client did not send'),
  openLoop: openLoop.optional().describe('how well a request rate was kept'),
  goodput: interval.optional().describe('requests per second that keep all limits of their class'),
});

const measuredOnce = seen.extend({
  classes: z.array(requestClass).optional().describe('figures by request class'),
  badShare: interval.optional().describe('share of the answered requests that failed or missed a limit, 0 to 1'),
  tokens: tokens.optional(),
  engine: engine.optional(),
  latencyPercentilesMs: z.record(text, figure).optional().describe('further percentiles by number, from the sending'),
  windowPercentilesMs: openObject({
    low: figure.describe('the lowest window'),
    high: figure.describe('the highest window'),
  })
    .optional()
    .describe('the budgeted percentile of single windows'),
  windows: count.describe('counted windows'),
  firstAnswersMs: figure
    .optional()
    .describe('how long the first requests after a load took, if that was over three seconds; they do not count'),
  coldWindows: count
    .optional()
    .describe('windows that did not count because a batch size was executed for the first time'),
  voidWindows: count.optional().describe('windows that did not count because the load generator paused'),
  responses: count.optional().describe('responses to requests of streams'),
  sequences: count.optional().describe('sequences that ended'),
  tooManyErrors: z.boolean().optional().describe('whether it ended early because too many requests failed'),
  budgetVerdict: z
    .enum(['met', 'missed'])
    .optional()
    .describe('why it ended early: the budget was clearly `met` or `missed`'),
  foreignByModel: z.record(text, figure).optional().describe('foreignRequests by model'),
  fronts: z
    .array(
      seen
        .extend({ model: text.describe('the model') })
        .meta({ id: 'front', description: 'figures of one of several models that get requests' }),
    )
    .optional()
    .describe('figures by model, where several get requests'),
  device,
  hostWorkUs: figure.optional().describe('time of a fixed piece of work on this host, which shows its speed'),
  clientTimes: clientTimes.optional(),
  client,
  replies: replies.optional().describe('replies over plain HTTP'),
});

/** The figures of a candidate at a load level; those under several workloads are in `workloads`. */
export const measurement = measuredOnce
  .extend({
    workloads: z
      .array(
        measuredOnce
          .extend({
            workload: text.describe('the workload'),
            weight: z.number().positive().describe('its weight, relative to the others'),
          })
          .meta({ id: 'workload', description: 'the figures under one workload, at its own rate' }),
      )
      .min(1)
      .optional()
      .describe('the figures under each of several workloads; the others combine them by the rule of the study'),
  })
  .meta({ id: 'measurement', description: 'the figures of one candidate at one load level' });

/**
 * The figures of one candidate at one load level. `stable` is false if the maximum number of
 * windows was reached; the figures are still as measured.
 */
export type Measurement = ReadOnly<z.output<typeof measurement>>;

/** The figures under one workload; its level is its own mean rate. */
export type WorkloadMeasurement = NonNullable<Measurement['workloads']>[number];

/** The figures of one model of a mix, at its part of the level. */
export type FrontMeasurement = NonNullable<Measurement['fronts']>[number];
