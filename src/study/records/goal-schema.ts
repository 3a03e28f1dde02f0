import { z } from 'zod';
import type { ReadOnly } from '#base/read-only.ts';
import { count, json, openObject, text } from '#base/schema.ts';
import { machineSchema } from '#profiler/machine.ts';

/** What a study is about, in the journal. */

export const server = openObject({
  name: text.describe('as the server calls itself'),
  version: text.describe('its version'),
  url: text.describe('HOST:PORT of the requests'),
  protocol: text.describe('protocol of the requests'),
  controlUrl: text.describe('HOST:PORT of the control calls'),
  controlProtocol: text.describe('protocol of the control calls'),
  emulated: z.nullable(text).describe("profile of tritune's emulator; null for a real server"),
  machine: machineSchema.optional().describe('what the figures were measured on'),
}).meta({ id: 'server', description: 'the server of a run' });

export const goal = openObject({
  budget: z
    .nullable(
      openObject({
        percentile: z.number().describe('the percentile, such as 99'),
        latencyMs: z.number().describe('highest latency allowed at it'),
      }),
    )
    .describe('the latency budget; null without one'),
  constraints: z
    .array(
      openObject({
        metric: text.describe('name of the metric'),
        relation: z.enum(['<=', '>=']).describe('whether the value is the highest or the lowest that is allowed'),
        value: z.number().describe("the limit, in the metric's unit"),
      }),
    )
    .describe('further limits'),
  objectives: z
    .array(
      openObject({
        metric: text.describe('name of the metric'),
        weight: z.number().positive().describe('its weight, relative to the others'),
      }),
    )
    .min(1)
    .describe('metrics to improve'),
  goodput: openObject({
    ttftNs: z.number().optional().describe('time to first token'),
    itlNs: z.number().optional().describe('each time between two tokens'),
    tpotNs: z.number().optional().describe('time per output token'),
    e2eNs: z.number().optional().describe('time to the end of the reply'),
  })
    .optional()
    .describe('limits of a good request, in nanoseconds'),
  cost: openObject({
    currency: text.describe('unit of the amounts'),
    name: text.describe('what is paid for'),
    per: z.enum(['gpu', 'server']).describe('whether each GPU is paid for, or the whole server'),
    perHour: z.number().positive().describe('its price for an hour'),
    serverGpus: z.number().int().positive().optional().describe('GPUs of the server'),
    forRate: z
      .union([z.number().positive(), z.record(text, z.number().positive())])
      .optional()
      .describe('inferences per second to serve, in total or by model'),
    headroom: z.number().min(0).lt(1).describe('share of the capacity that is kept free'),
    chance: z.number().gt(0).lt(1).describe('chance that the servers hold the rate'),
    instanceTypes: z
      .array(
        openObject({
          name: text.describe('name in the prices'),
          gpus: z.number().positive().describe('GPUs or slices that it has'),
          perHour: z.number().positive().describe('its price for an hour'),
        }),
      )
      .optional()
      .describe('types of instances in the prices with the same GPU'),
  })
    .optional()
    .describe('prices, and the rate to serve'),
}).meta({ id: 'goal', description: 'the goal of the study' });

const batch = count.optional().describe('samples in one request, where the study varies them');

export const levels = z
  .discriminatedUnion('kind', [
    openObject({
      kind: z.literal('search').describe('the highest level that meets the goal'),
      start: z.number().positive().optional().describe('level to begin at'),
      batch,
    }),
    openObject({
      kind: z.literal('fixed').describe('exactly these levels'),
      values: z.array(z.number()).describe('the levels'),
      batch,
    }),
  ])
  .meta({ id: 'levels', description: 'the load levels of a trial' });

export const restriction = z
  .union([
    openObject({ pinned: json.describe('the only value that is searched') }),
    openObject({ excluded: z.array(json).describe('values that are not searched') }),
  ])
  .meta({ id: 'restriction', description: 'what is left of one parameter' });

type GoalFields = ReadOnly<z.output<typeof goal>>;

/** The budget on one latency percentile. */
export type LatencyBudget = NonNullable<GoalFields['budget']>;

/**
 * `METRIC<=VALUE` or `METRIC>=VALUE`; the metric is one of the goal's registry, and the value is in
 * its unit.
 */
export type Constraint = GoalFields['constraints'][number];

export type Objective = GoalFields['objectives'][number];

/** The price of a server, and the rate to serve. Amounts are in `currency`. */
export type CostTerms = NonNullable<GoalFields['cost']>;

/** A whole server that can be rented. */
export type InstanceType = NonNullable<CostTerms['instanceTypes']>[number];

/**
 * `search`: find the highest level that meets the goal, from `start` if given. `fixed`: measure
 * exactly these. `batch`: the samples per request of these levels, where the study varies them.
 */
export type LevelPlan = ReadOnly<z.output<typeof levels>>;
