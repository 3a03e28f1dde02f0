import { z } from 'zod';
import { budgetLatencyMs, count, figure, interval, laterFigure, level, requestLatencies, text } from './figures.ts';
import {
  client,
  clientTimes,
  device,
  engine,
  openLoop,
  replies,
  requestClass,
  server,
  serverFields,
  tokens,
} from './measurement-parts.ts';

/** A measurement in the journal: the figures of one candidate at one load level. */

const failure = z.looseObject({
  kind: text.describe('kind of the failure; `dropped` for requests that were due and not sent'),
  count: count.describe('their number'),
  firstMessage: text.describe('message of the first'),
});

/** Figures of all requests, and of those of each front. */
const seen = z.looseObject({
  level: level.describe('the load level'),
  throughput: interval.describe('inferences per second'),
  latencyMs: requestLatencies,
  budgetLatencyMs,
  stable: z.boolean().describe('whether the intervals became as narrow as asked for'),
  durationMs: figure.describe('length of the counted windows'),
  requests: count.describe('requests that ended'),
  sendRate: laterFigure.describe('requests sent per second'),
  failures: z.array(failure).describe('failed requests by kind'),
  errorRate: figure.describe('failed requests among all, 0 to 1'),
  server: z.nullable(server).describe("the server's statistics; null without usable ones"),
  serverNote: text.optional().describe('why there are no usable statistics'),
  composing: z
    .array(z.looseObject({ model: text.describe('its name'), version: text.describe('its version'), ...serverFields }))
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
  windowPercentilesMs: z
    .looseObject({ low: figure.describe('the lowest window'), high: figure.describe('the highest window') })
    .optional()
    .describe('the budgeted percentile of single windows'),
  windows: count.describe('counted windows'),
  coldWindows: count
    .optional()
    .describe('windows that did not count because a batch size was executed for the first time'),
  voidWindows: count.optional().describe('windows that did not count because the load generator paused'),
  responses: count.optional().describe('responses to requests of streams'),
  sequences: count.optional().describe('sequences that ended'),
  tooManyErrors: z.boolean().optional().describe('whether it ended early because too many requests failed'),
  budgetVerdict: text.optional().describe('why it ended early: the budget was clearly `met` or `missed`'),
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
