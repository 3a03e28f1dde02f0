import { z } from 'zod';
import {
  budgetLatencyMs,
  count,
  figure,
  interval,
  latencySummary,
  laterFigure,
  lengthSummary,
  requestLatencies,
  text,
} from './figures.ts';

/**
 * What others than the load generator's count say in a measurement of the journal: server, model,
 * client.
 */

export const serverFields = {
  queueUs: figure.describe('mean time in the queue'),
  computeInputUs: figure.describe('mean time for the inputs'),
  computeInferUs: figure.describe('mean time for the inference'),
  computeOutputUs: figure.describe('mean time for the outputs'),
  overheadUs: figure.describe("the rest of the server's request time"),
  requestUs: figure.describe('mean time of a successful request in the server'),
  successCount: count.describe('successful requests'),
  inferenceCount: count.describe('inferences'),
  executionCount: count.describe('executions'),
  failCount: count.describe('failed requests'),
  cache: z
    .looseObject({
      hitCount: count.describe('hits'),
      hitUs: figure.describe('mean time of a hit'),
      missCount: count.describe('misses'),
      missUs: figure.describe('mean time of a miss'),
    })
    .describe('the response cache'),
  batches: z
    .array(
      z.looseObject({
        size: count.describe('batch size'),
        executions: count.describe('executions'),
        meanExecutionUs: figure.describe('mean time of one'),
      }),
    )
    .describe('executions by batch size'),
};
export const server = z
  .looseObject(serverFields)
  .meta({ id: 'serverStatistics', description: "the server's statistics of the counted windows" });

/** Token figures of a language model. */
export const tokens = z
  .looseObject({
    ttftMs: latencySummary.describe('time to first token, from the sending'),
    scheduledTtftMs: latencySummary.optional().describe('the same from the time due'),
    itlMs: latencySummary.describe('inter-token latency: every gap between pieces with output'),
    tpotMs: latencySummary.describe('time per output token, one figure a request'),
    budget: z
      .looseObject({
        ttftMs: interval.describe('TTFT in milliseconds'),
        itlMs: interval.describe('ITL in milliseconds'),
        tpotMs: interval.describe('TPOT in milliseconds'),
      })
      .describe('the percentile of budgetLatencyMs'),
    outputTokensPerSecond: interval.describe('output tokens per second'),
    totalTokensPerSecond: interval.describe('input and output tokens per second'),
    outputTokensPerSecondPerUser: figure.describe('output tokens per second that one user sees: mean of 1 / TPOT'),
    goodput: interval.optional().describe('requests per second that keep all limits'),
    badShare: interval.optional().describe('share of the answered requests that failed or missed a limit, 0 to 1'),
    inputTokens: lengthSummary.describe('lengths of the requests'),
    outputTokens: lengthSummary.describe('lengths of the replies'),
    cachedShare: figure.optional().describe("input tokens in the server's prefix cache, 0 to 1"),
    countedBy: z.enum(['usage', 'tokenizer', 'pieces']).describe('who counted the tokens'),
    cutOff: count.describe('replies that ended before the server said that they were complete'),
  })
  .meta({ id: 'tokens', description: 'times and rates of the tokens of a language model' });

/** Figures from the metrics page of a language model's engine. */
export const engine = z
  .looseObject({
    runningSequences: figure.optional().describe('mean sequences that run'),
    waitingSequences: figure.optional().describe('mean sequences that wait'),
    kvCacheShare: figure.optional().describe('share of the KV cache in use, 0 to 1'),
    preemptionsPerSecond: figure.optional().describe('sequences that lose their place in the KV cache'),
  })
  .meta({ id: 'engine', description: "means of a language model's engine, from its metrics page" });

/** Figures of the requests of one class. */
export const requestClass = z
  .looseObject({
    name: text.describe('its name'),
    model: text.optional().describe('its model, where the classes of several models were measured together'),
    requests: count.describe('requests that ended'),
    failures: count.describe('failed requests, and those that were due and not sent'),
    throughput: interval.describe('successful requests per second'),
    goodput: interval.optional().describe('requests per second within all limits of the class'),
    latencyMs: latencySummary.describe('latency in milliseconds, at a request rate from the time due'),
    budgetLatencyMs: budgetLatencyMs.optional(),
  })
  .meta({ id: 'requestClass', description: 'figures of one request class' });

export const device = z
  .looseObject({
    gpuUtilizationPercent: figure.optional().describe('mean utilization of the GPUs'),
    gpuMemoryMiB: figure.optional().describe('memory in use, all GPUs together'),
    gpuPowerW: figure.optional().describe('mean power, all GPUs together'),
    cpuUtilizationPercent: figure.optional().describe("utilization of the server's host"),
    gpus: z
      .array(
        z.looseObject({
          uuid: text.describe('its identifier'),
          utilizationPercent: figure.optional().describe('mean utilization'),
          powerW: figure.optional().describe('mean power in watts'),
          clockMhz: figure.optional().describe('mean clock of its multiprocessors'),
          memoryBytes: figure.optional().describe('most memory in use'),
          memoryTotalBytes: figure.optional().describe('its memory'),
        }),
      )
      .optional()
      .describe('figures of each GPU'),
  })
  .meta({ id: 'device', description: "means from the server's metrics page; what it lacks is absent" });

export const clientTimes = z
  .looseObject({
    requests: count.describe('requests in the sample'),
    marshalUs: figure.describe('mean time to make the bytes of a request'),
    sendUs: figure.describe('mean time until the kernel has taken them'),
    waitUs: figure.describe('mean time until the first bytes of the reply'),
    receiveUs: figure.describe('mean time until its last bytes'),
    unmarshalUs: figure.describe('mean time to read them'),
  })
  .meta({ id: 'clientTimes', description: "parts of a request's time in the load generator" });

export const client = z
  .looseObject({
    cpuUsPerRequest: figure.describe('CPU time of one request, in microseconds'),
    besideCpuShare: figure.optional().describe('CPU of the other threads of the process; 1 is one core'),
    gcMs: figure.optional().describe('garbage collection in the sending threads'),
    tailShiftMs: figure.optional().describe('most that pauses of the sending threads added to the budgeted percentile'),
    itlShiftMs: figure.optional().describe('the same for the inter-token latency'),
    eventLoopDelayMs: figure.describe('longest delay of a due timer'),
    bound: z.boolean().default(false).describe('whether the load generator was the limit'),
    reason: text.optional().describe('why it was'),
    starved: z.boolean().optional().describe('whether other processes had the CPU that it lacked'),
    unheldRate: z
      .looseObject({
        by: z.enum(['client', 'server', 'machine']).describe('who kept the rate from being held'),
        reason: text.describe('why'),
      })
      .optional()
      .describe('absent if the rate was held, and in a closed loop'),
    agents: z
      .array(
        z.looseObject({
          address: text.describe('HOST:PORT'),
          version: text.describe('its version of tritune'),
          cores: figure.describe('cores that it may use'),
          threads: figure.describe('threads that sent'),
          clock: z
            .looseObject({
              offsetMs: figure.describe('offset to this machine at the start of the windows'),
              uncertaintyMs: figure.describe('uncertainty of the offset'),
              driftMs: figure.describe('drift until their end'),
              driftUncertaintyMs: figure.describe('uncertainty of the drift'),
            })
            .describe('its clock, in milliseconds'),
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
  })
  .meta({ id: 'client', description: 'what the load generator used' });

/** How well a request rate was kept. */
export const openLoop = z.looseObject({
  scheduledLatencyMs: requestLatencies.describe('latencies from when requests were due'),
  lateSends: laterFigure.describe('requests sent more than a millisecond late'),
  droppedSends: laterFigure.describe('requests not sent because too many were in flight'),
  sendLatenessP50Us: laterFigure.describe('upper bound of the median lateness of sends'),
  achievedRate: laterFigure.describe('requests sent per second'),
  countedMs: z
    .array(z.looseObject({ from: z.number().describe('its beginning'), to: z.number().describe('its end') }))
    .optional()
    .describe('the counted times since the schedule began'),
});

const seconds = {
  averageSeconds: figure.describe('mean'),
  fastestSeconds: figure.describe('shortest'),
  slowestSeconds: figure.describe('longest'),
};

/** Replies over plain HTTP. */
export const replies = z.looseObject({
  count: figure.describe('their number'),
  batch: figure.optional().describe('inferences that each answers, if more than one'),
  totalBytes: figure.describe('bytes of their bodies'),
  latencySeconds: z
    .looseObject({
      average: figure.describe('mean'),
      fastest: figure.describe('shortest'),
      slowest: figure.describe('longest'),
    })
    .describe('response times'),
  histogram: z
    .array(z.looseObject({ uptoSeconds: figure.describe('its bound'), count: figure.describe('replies in it') }))
    .describe('buckets of response times'),
  percentiles: z
    .array(z.looseObject({ percentile: figure.describe('the percentile'), seconds: figure.describe('its time') }))
    .describe('percentiles of response times'),
  phases: z
    .array(z.looseObject({ name: text.describe('its name'), count: figure.describe('measured values'), ...seconds }))
    .describe('parts of a response time'),
  statuses: z
    .array(z.looseObject({ status: figure.describe('the status'), count: figure.describe('replies with it') }))
    .describe('replies by status'),
});
