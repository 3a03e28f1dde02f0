import { z } from 'zod';
import type { ReadOnly } from '#base/read-only.ts';
import { count, openObject, text } from '#base/schema.ts';
import type { Step } from '#queueing/network/types.ts';
import { figure, finite, load } from './figures-schema.ts';

/** What `summary.json` says of the models, the workloads and the machine. */

export const speed = openObject({
  usual: z.number().describe('speed at which figures are compared'),
  lowest: figure.describe('lowest speed; null without measurements'),
  highest: figure.describe('highest speed'),
  changes: z
    .array(
      openObject({
        atSeconds: z.number().describe('when it was noticed, in seconds of the study'),
        speed: openObject({
          value: finite.describe('the estimate'),
          low: finite.describe('lower end of the 95 % interval'),
          high: finite.describe('upper end of the 95 % interval'),
        }).describe('the new speed'),
        before: z.number().describe('the earlier speed'),
        gpu: z
          .union([
            openObject({
              uuid: text.describe('as the driver names it'),
              fromMhz: z.number().describe('its clock before'),
              toMhz: z.number().describe('its clock after the change'),
              powerW: z.number().optional().describe('its power after the change'),
            }),
            openObject({
              uuid: text.describe('as the driver names it'),
              programs: z.array(text).describe('other programs that began to use it, or left it'),
              have: z.enum(['begun', 'ended']).describe('which of the two'),
            }),
          ])
          .nullable()
          .optional()
          .describe('the GPU whose clock or programs changed with it; null if none did, or neither is known'),
      }),
    )
    .describe('changes by more than 15 %'),
  corrected: count.describe('measurements that are compared by other figures than were measured'),
}).meta({ id: 'speed', description: "the machine's speed, relative to the study's first minute" });

export const noiseFloor = openObject({
  level: load,
  percentile: z.number().describe('percentile of the latencies'),
  valueMs: finite.describe('latency at that percentile, over all windows'),
  lowMs: finite.describe('the same of the lowest window'),
  highMs: finite.describe('the same of the highest window'),
  medianMs: finite.describe('median latency'),
  windows: count.describe('windows that were counted'),
  share: figure.describe(
    '(highMs − medianMs) / (budget − medianMs), from 0 to 1; null without a budget on this percentile',
  ),
  serverQueueMs: finite
    .optional()
    .describe("mean time in the server's own queue, if that is above the median latency: the server stalls, no noise"),
}).meta({ id: 'noiseFloor', description: 'latency of the original config with next to no load when the study began' });

const step: z.ZodType<Step> = z
  .lazy(() => {
    const after = z.array(count).optional().describe('places in the list of the steps that must have ended before');
    return z.union([
      openObject({ stage: text.describe('the model that it calls'), after }),
      openObject({ steps: z.array(step).describe('of an ensemble inside'), after }),
    ]);
  })
  .meta({ id: 'step', description: 'a step of an ensemble' });

export const topology = openObject({
  fronts: z
    .array(
      openObject({
        model: text.describe('its name'),
        steps: z.array(step).describe('models that its requests pass through'),
        share: z.number().optional().describe('its share of the level, relative to the other shares'),
        requestsPerSecond: z.number().optional().describe('its rate, whatever the level is'),
      }),
    )
    .describe('models that clients call'),
  stages: z.array(text).describe('the models with instances of their own, in the order in which requests reach them'),
  calls: z.record(text, z.array(text)).optional().describe('BLS models by name, with the models that they call'),
}).meta({ id: 'topology', description: 'the models that were tuned together' });

export const workloads = openObject({
  rule: text.describe('how figures under several become one: worst, mean or quantile:SHARE'),
  holdout: z.number().optional().describe('the share of each trace that only the final saw'),
  of: z
    .array(
      openObject({
        name: text.describe('its name'),
        file: text.describe('its file'),
        weight: z.number().describe('its weight, relative to the others'),
        perLevel: z.number().describe('its mean requests per second over the level'),
        passSeconds: z.number().describe('duration of one pass'),
        digest: text.describe('digest of its arrivals'),
      }),
    )
    .describe('the workloads, in their order'),
}).meta({ id: 'workloads', description: 'the workloads of the study; the level is the mean rate of the first' });

/** The latency with almost no load: the least that any budget must leave room for. */
export type NoiseFloor = ReadOnly<z.output<typeof noiseFloor>>;

/** The speed of the machine during a study, relative to its first minute. */
export type SpeedSummary = ReadOnly<z.output<typeof speed>>;
