import { z } from 'zod';
import { scalingSchema } from '#autoscale/document.ts';
import type { ReadOnly } from '#base/read-only.ts';
import { openObject, text } from '#base/schema.ts';

const figure = z.number();
const interval = openObject({
  value: figure.describe('The estimate'),
  low: figure.describe('Lower end of the 95 % interval'),
  high: figure.describe('Upper end of the 95 % interval'),
}).meta({ id: 'interval', description: 'An estimate with its 95 % interval, in the unit of the field that has it' });

const point = {
  perSecond: figure.describe('Requests per second that were due'),
  percentileMs: interval
    .nullable()
    .describe('The limited percentile in milliseconds, from the time due; null where no request succeeded'),
  p50Ms: figure.describe('Median latency in milliseconds, from the time due'),
  p99Ms: figure.describe('99th percentile of the same'),
  badShare: figure.describe('Share of the answered requests that were over the budget, missed a limit or failed'),
  errorRate: figure.describe('Share of the due requests that failed or were not sent'),
  failure: text.optional().describe('Message of the first failed request; absent if none failed'),
  servedPerSecond: figure.describe('Requests per second that succeeded'),
  seconds: figure.describe('Length of the counted time'),
};
const isKept = z.boolean().describe('Whether the limit was met');

/** The form of capacity.json. */
export const capacityDocumentSchema = openObject({
  schemaVersion: z.literal(1).describe('Version of the format'),
  kind: z.literal('capacity').describe('Kind of the document'),
  trituneVersion: text.describe('Version of tritune that wrote the file'),
  model: text.describe('The model, or the URL of a plain HTTP service'),
  server: openObject({
    name: text.describe('As the server calls itself'),
    version: text.describe('Its version'),
    url: text.describe('Its address'),
    emulated: text.nullable().describe('The profile of an emulator; null for a real server'),
  }).describe('The server'),
  protocol: z.enum(['http', 'grpc']).describe('Protocol of the requests'),
  batch: figure.describe('Samples in one request'),
  arrivals: text.describe('How requests arrive: poisson, constant, or the name of a workload'),
  commandLine: z.array(text).describe('The command line'),
  assumptions: z
    .array(text)
    .optional()
    .describe('What was made up for the requests, and so is measured; absent if nothing was'),
  limit: openObject({
    percentile: figure.describe('The percentile of the requests, such as 99'),
    budgetMs: figure
      .nullable()
      .describe('Budget of the latency percentile in milliseconds; null for limits on each request'),
    limits: text.nullable().describe('Limits on each request, which the percentile of them must meet'),
  }).describe('What a rate must meet'),
  outcome: z
    .enum(['found', 'imprecise', 'infeasible', 'client-limited', 'interrupted'])
    .describe(
      'found: within the asked precision; imprecise: given up before; infeasible: no rate meets the limit; client-limited: the load generator was the limit, the capacity is above',
    ),
  precision: figure.describe('The half-width that was asked for, as a share'),
  capacity: interval
    .nullable()
    .describe('The highest rate that meets the limit, in requests per second, at the usual speed of the run'),
  atLeast: figure.nullable().describe('The highest rate at which the limit was seen to be met'),
  at: openObject(point)
    .nullable()
    .describe("Figures at the lower end of the capacity's interval, a rate that is met with a probability of 97.5 %"),
  saturation: openObject({
    perSecond: figure.describe('Requests per second'),
    isReached: z.boolean().describe('More requests in flight gave no more'),
  })
    .nullable()
    .describe('The most requests per second that were served, ignoring latency'),
  cliff: z
    .array(
      openObject({
        factor: figure.describe('The rate, as a multiple of the capacity'),
        ...point,
        growthMsPerSecond: figure
          .nullable()
          .describe('How fast mean latency grew over that time; null where it was too short to tell'),
      }),
    )
    .describe('What happens beyond the capacity, measured for a fixed time'),
  burst: openObject({
    factor: figure.describe('Rate in the burst over the base rate'),
    seconds: figure.describe('Length of the burst'),
    recoverSeconds: figure
      .nullable()
      .describe('How soon after it latency must be within the budget again; null: during it too'),
    basePerSecond: interval.nullable().describe('The highest base rate at which the burst meets the limit'),
    plays: z
      .array(
        openObject({
          ...point,
          isKept,
          worstMs: figure.describe('The highest percentile of any moment of it'),
          recoveredAfterSeconds: figure
            .nullable()
            .describe('From the end of the burst until latency was back within the budget; null where it was not'),
        }),
      )
      .describe('Every play of the burst'),
  })
    .nullable()
    .describe('How large a burst it sustains; null where none was asked for'),
  replicas: openObject({
    perSecond: figure.describe('The rate to serve, in requests per second'),
    headroom: figure.describe('Headroom as a share of the capacity'),
    chance: figure.describe('The requested probability, 0 to 1'),
    spread: figure.describe('Standard deviation of the logarithm of the capacity from replica to replica'),
    replicas: figure.nullable().describe('The fewest that sustain the rate with that probability'),
    table: z
      .array(
        openObject({
          replicas: figure.describe('Number of replicas'),
          perReplica: figure.describe('Requests per second of each'),
          chance: figure.describe('Probability that all meet the limit, 0 to 1'),
        }),
      )
      .describe('The probability for some more and fewer replicas'),
  })
    .nullable()
    .describe('How many replicas a rate needs; null where no rate was asked for'),
  speed: openObject({
    lowest: figure.describe('The lowest'),
    highest: figure.describe('The highest'),
    hasChanged: z.boolean().describe('Whether it changed by more than 15 %'),
    isCorrected: z.boolean().describe('Whether rates and latencies are scaled to the usual speed'),
  })
    .nullable()
    .describe("This host's speed during the run, relative to its usual one; null for a server elsewhere"),
  notes: z.array(text).describe('Remarks for people'),
  probes: z
    .array(
      openObject({
        ...point,
        isKept,
        speed: figure.nullable().describe("This host's speed, relative to its usual one; null where it is unknown"),
      }),
    )
    .describe('Every measurement at a rate, in the order of time'),
  closedLoops: z
    .array(
      openObject({
        concurrency: figure.describe('Requests in flight'),
        servedPerSecond: figure.describe('Requests per second that succeeded'),
        percentileMs: figure.describe('The limited percentile in milliseconds'),
      }),
    )
    .describe('The measurements with a fixed number of requests in flight, which show the saturation'),
  seconds: figure.describe('How long the run took'),
  mostSeconds: figure.optional().describe('How long everything but bursts could take at most'),
  cutShort: z
    .array(z.enum(['search', 'answer', 'beyond', 'burst']))
    .optional()
    .describe(
      'What was cut short or left out because that time was up: the search, the measurement at the capacity, the rates beyond it, a burst',
    ),
  tokens: openObject({
    outputPerRequest: figure.describe('Output tokens of a reply, on average'),
    outputPerSecond: interval.describe('Output tokens per second at the capacity'),
  })
    .nullable()
    .optional()
    .describe('Tokens of a language model'),
  gpus: openObject({
    count: figure.describe('GPUs, or MIG slices, that the model uses'),
    requestsPerSecond: interval.describe('The capacity, for each of them'),
    outputTokensPerSecond: interval.optional().describe('The same in output tokens per second'),
  })
    .nullable()
    .optional()
    .describe('GPUs of the model; null where it uses none, or their number is unknown'),
  cost: openObject({
    currency: text.describe('Unit of all amounts'),
    name: text.describe('What is paid for'),
    per: z.enum(['gpu', 'server']).describe('Whether each GPU is paid for, or the whole server'),
    perHour: figure.describe('An hour of one server'),
    perMillion: interval.describe('A million inferences at the capacity'),
    perMillionTokens: interval.optional().describe('A million output tokens at the capacity'),
    forRate: openObject({
      perHour: figure.describe('An hour of all replicas'),
      perMillion: figure.describe('A million requests at that rate'),
    })
      .nullable()
      .describe('For the rate of the replicas'),
    instanceTypes: z
      .array(
        openObject({
          name: text.describe('Its name'),
          gpus: figure.describe('GPUs, or MIG slices, that it has'),
          perHour: figure.describe('An hour of one instance'),
          holds: figure.describe('Replicas that it has GPUs for'),
          perMillion: interval.describe('A million inferences at the capacity of these replicas'),
          perMillionTokens: interval.optional().describe('A million output tokens'),
          forRate: openObject({
            instances: figure.describe('Instances that serve the rate'),
            perHour: figure.describe('An hour of all instances'),
          })
            .optional()
            .describe('For the rate of the replicas'),
        }),
      )
      .describe('Types of instances in the prices with the same GPU, the cheapest first'),
  })
    .nullable()
    .optional()
    .describe('What it costs; null without prices, or where the number of GPUs is unknown'),
  autoscalers: z.array(scalingSchema).optional().describe('Autoscalers whose objects were written'),
}).describe('What tritune capacity found: the highest request rate within a limit, and what lies beyond it');

/** What `tritune capacity` found. */
export type CapacityDocument = ReadOnly<z.infer<typeof capacityDocumentSchema>>;
