import { z } from 'zod';
import type { Json, JsonObject } from '../../base/json.ts';
import type { Step } from '../../queueing/network/types.ts';
import type { Topology } from '../../space/topology.ts';
import type { Explanation } from '../analysis/explain/explain.ts';
import type { Reason } from '../analysis/explain/reasons.ts';
import { barKinds } from '../analysis/explain/time-bar.ts';
import type { InstanceTypeCost } from '../goal/instance-types.ts';
import type { SpeedSummary } from '../speed/summary.ts';
import type { CostPoint } from './cost-point.ts';
import type { NoiseFloor } from './noise-floor.ts';
import type { ClassPoint, FrontPoint, StagePoint, TokenPoint, WorkloadPoint } from './point-parts.ts';
import type { Prediction } from './prediction.ts';
import type { RankedModel, SeriesEntry, SeriesSummary } from './series-summary.ts';
import type { StandingPoint, Summary, SummaryPoint } from './summary.ts';

/** The form of `summary.json`; the compiler checks it against the types that are written. */

const figure = z.number().nullable();
/** A number that the file holds as null if it is not finite. */
const finite = figure as unknown as z.ZodType<number>;
const count = z.int().nonnegative();
const text = z.string();
const json: z.ZodType<Json> = z.json().meta({ id: 'json' });
const assignment = z
  .record(text, json)
  .meta({ id: 'assignment', description: 'parameter of the search space → value' });
const config = z
  .looseObject({})
  .describe("the whole model config, in the names of Triton's ModelConfig") as unknown as z.ZodType<JsonObject>;

const intervalFields = { value: figure, low: figure, high: figure };
const throughput = z
  .strictObject(intervalFields)
  .meta({ id: 'throughput', description: 'infer/s, with its 95 % interval' });
const load = z
  .strictObject({
    mode: z.enum(['concurrency', 'request-rate']),
    value: z.number(),
    batch: count.optional().describe('samples in one request, where the study varies them'),
  })
  .meta({ id: 'loadLevel' });
const budgetLatencyMs = z
  .strictObject({ percentile: z.number(), ...intervalFields })
  .meta({ id: 'budgetLatencyMs', description: 'the percentile that the budget is about, with its 95 % interval' });
const percentiles = { avg: finite, p50: finite, p90: finite, p95: finite, p99: finite };
const openLoop = z.strictObject({
  scheduledLatencyMs: z.strictObject({ ...percentiles, max: finite, min: finite, std: finite }),
  lateSends: count,
  droppedSends: count,
  sendLatenessP50Us: finite,
  achievedRate: finite,
});

const frontFields = {
  load,
  throughput: figure.describe('infer/s'),
  latencyMs: z.strictObject({ avg: figure, p50: figure, p90: figure, p95: figure, p99: figure }),
  budgetLatencyMs: figure,
  errorRate: figure,
};
const frontPoint: z.ZodType<FrontPoint> = z.strictObject(frontFields).meta({ id: 'front' });
const workloadPoint: z.ZodType<WorkloadPoint> = z
  .strictObject({
    ...frontFields,
    goodput: figure.optional().describe('requests per second within all limits; absent without limits'),
    decides: z.boolean().describe('whether the rule takes its figure'),
  })
  .meta({ id: 'workload', description: 'at its own rate' });
const stagePoint: z.ZodType<StagePoint> = z
  .strictObject({
    timesPerRequest: figure.describe(
      'requests to it for each of a client; of models that share a server its part of all',
    ),
    queueMs: figure,
    computeMs: figure,
    callsMs: figure.describe('in which a BLS model waited for those that it calls'),
    meanBatch: figure,
    instances: figure,
    busy: figure.describe('busy instances over all instances, 0 to 1'),
  })
  .meta({ id: 'stage', description: 'means of one request, in milliseconds' });

const tokenTimes = z
  .strictObject({
    avg: figure,
    p50: figure,
    p90: figure,
    p95: figure,
    p99: figure,
    max: figure,
    min: figure,
    std: figure,
  })
  .meta({ id: 'tokenTimes', description: 'milliseconds' });
const tokenInterval = z
  .strictObject({ value: figure, low: figure, high: figure })
  .meta({ id: 'tokenInterval', description: 'with its 95 % interval' });
const tokenLengths = z
  .strictObject({ mean: figure, std: figure, min: figure, max: figure })
  .meta({ id: 'tokenLengths', description: 'tokens of requests' });

const tokenPoint: z.ZodType<TokenPoint> = z
  .strictObject({
    ttftMs: tokenTimes.describe('to the first piece with output, from the sending'),
    scheduledTtftMs: tokenTimes.optional().describe('the same from the time due; at a request rate only'),
    itlMs: tokenTimes.describe('every gap between pieces with output'),
    tpotMs: tokenTimes.describe('(end-to-end − TTFT) / (output tokens − 1), one figure a request'),
    budget: z
      .strictObject({ ttftMs: tokenInterval, itlMs: tokenInterval, tpotMs: tokenInterval })
      .describe('the percentile of budgetLatencyMs; TTFT from the time due at a request rate'),
    outputTokensPerSecond: tokenInterval,
    totalTokensPerSecond: tokenInterval,
    outputTokensPerSecondPerUser: figure.describe('mean of 1 / TPOT'),
    goodput: tokenInterval.optional().describe('requests per second that keep all limits; absent without limits'),
    inputTokens: tokenLengths,
    outputTokens: tokenLengths,
    cachedShare: figure.optional().describe("input tokens in the server's prefix cache, 0 to 1"),
    countedBy: z.enum(['usage', 'tokenizer', 'pieces']).describe('who counted the tokens'),
    cutOff: figure.describe('replies that ended before the server said that they were complete'),
  })
  .meta({ id: 'tokens', description: 'the times and rates of tokens' });

const classPoint: z.ZodType<ClassPoint> = z
  .strictObject({
    name: text,
    model: text.optional().describe('where the classes of several models were measured together'),
    requests: figure,
    failures: figure.describe('those that were due and not sent too'),
    throughput: tokenInterval.describe('successful requests per second'),
    goodput: tokenInterval.optional().describe('requests per second within all limits of the class'),
    latencyMs: tokenTimes.describe('at a request rate from the time due'),
    budgetLatencyMs: z.strictObject({ percentile: figure, ...intervalFields }).optional(),
  })
  .meta({ id: 'requestClass', description: 'what the requests of one class saw' });

const pointFields = {
  trial: count,
  fingerprint: text,
  assignment,
  config,
  models: z
    .record(text, z.strictObject({ assignment, config }))
    .optional()
    .describe('of models that are tuned together: the part of each, under the names of its own parameters'),
  load,
  feasible: z.boolean(),
  throughput,
  latencyMs: z.strictObject({ avg: figure, p50: figure, p90: figure, p95: figure, p99: figure }),
  budgetLatencyMs,
  errorRate: figure,
  stable: z.boolean(),
  openLoop: openLoop.optional().describe('at a request rate only'),
  tokens: tokenPoint.optional().describe('of a language model only'),
  goodput: tokenInterval
    .optional()
    .describe('requests per second that keep all limits of their class; absent without limits'),
  classes: z.array(classPoint).readonly().optional().describe('by request class, where there are several'),
  fronts: z
    .record(text, frontPoint)
    .optional()
    .describe('what the clients of each saw, where several models get requests'),
  stages: z
    .record(text, stagePoint)
    .optional()
    .describe('of models that are tuned together: where the time went in each'),
  workloads: z
    .record(text, workloadPoint)
    .optional()
    .describe('what was measured under each, where a study has several workloads'),
};
const point: z.ZodType<SummaryPoint> = z.strictObject(pointFields).meta({ id: 'point' });

const amount = z.strictObject(intervalFields).meta({ id: 'amount', description: 'with its 95 % interval' });
const known = z.strictObject({ value: finite, low: finite, high: finite });
const instanceType: z.ZodType<InstanceTypeCost> = z.strictObject({
  name: text.describe('name in the prices'),
  gpus: finite.describe('GPUs or slices that it has'),
  perHour: finite.describe('of one instance'),
  holds: finite.describe('replicas that it has GPUs for'),
  perMillion: known.describe('of a million inferences'),
  perMillionTokens: known.optional().describe('of a million output tokens; of a language model only'),
  forRate: z
    .strictObject({
      instances: finite.describe('instances that it needs'),
      perHour: finite.describe('of all instances'),
    })
    .optional()
    .describe('where a rate is asked for'),
});
const cost: z.ZodType<CostPoint> = z
  .strictObject({
    currency: text,
    name: text.describe('what is paid for'),
    per: z.enum(['gpu', 'server']),
    gpus: figure.describe('different GPUs, or slices, that one server uses'),
    perHour: amount.describe('of all replicas where a rate is asked for, else of one server'),
    perMillion: amount.describe('of a million inferences'),
    perMillionTokens: amount.optional().describe('of a million output tokens; of a language model only'),
    forRate: z
      .union([z.number(), z.record(text, z.number())])
      .optional()
      .describe('infer/s that were asked for'),
    replicas: amount.optional(),
    load: figure.optional().describe('how much of what a replica is counted with the rate takes, 0 to 1'),
    chance: figure.optional().describe('that the replicas hold the rate with the headroom left, 0 to 1'),
    throughputPerGpu: amount.optional().describe('infer/s on each GPU that is used'),
    tokensPerGpu: amount.optional().describe('output tokens/s on each GPU that is used; of a language model only'),
    instanceTypes: z.array(instanceType).optional().describe('types of instances with the same GPU, cheapest first'),
  })
  .meta({ id: 'cost' });

const standingFields = {
  ...pointFields,
  recommended: z
    .strictObject({
      of: z.literal('batch').optional().describe('what the levels are; absent: concurrency or request rate'),
      level: figure.describe('the highest that keeps the budget with a chance of 90 %'),
      chance: finite.describe('that the budget is kept at the load of this point'),
      safeLevel: figure.describe('the highest that keeps the budget with a chance of 99 %'),
      margin: finite.describe('how far the expected percentile lies below the budget, as a share of it'),
    })
    .nullable()
    .meta({ id: 'recommended', description: 'null where the goal is not throughput within a latency budget' }),
  compared: z.strictObject({ throughput, budgetLatencyMs }).nullable().meta({
    id: 'compared',
    description: "the figures at the machine's usual speed; null where they were measured at it",
  }),
  cost: cost.optional().describe('where the study has prices'),
};
const standing: z.ZodType<StandingPoint> = z.strictObject(standingFields).meta({ id: 'standing' });

const speed: z.ZodType<SpeedSummary> = z
  .strictObject({
    usual: z.number().describe('the speed that figures are compared at'),
    lowest: figure,
    highest: figure,
    changes: z.array(
      z.strictObject({
        atSeconds: z.number(),
        speed: z.strictObject({ value: finite, low: finite, high: finite }),
        before: z.number(),
      }),
    ),
    corrected: count.describe('measurements that are compared by other figures than were measured'),
  })
  .meta({ id: 'speed', description: "the machine's, relative to the study's first minute" });

const prediction: z.ZodType<Prediction> = z.strictObject({
  throughput: finite,
  latencyMs: z.strictObject({ p50: finite, p90: finite, p95: finite, p99: finite }),
  budgetLatencyMs: z.strictObject({ percentile: z.number(), value: finite }),
  from: count,
  quality: z.strictObject({ medianMiss: finite, isGood: z.boolean(), words: text }),
  extrapolates: z.array(z.enum(['instances', 'batch size', 'variant'])),
});

const constraint = z
  .strictObject({ metric: text, relation: z.enum(['<=', '>=']), value: z.number() })
  .meta({ id: 'constraint' });

const timeSplit = z.strictObject({
  totalMs: finite,
  parts: z.strictObject({ queueMs: finite, computeMs: finite, outsideMs: finite }).nullable(),
  execution: z.strictObject({ batchSize: finite, meanMs: finite }).nullable(),
});
const knobFigures = z.strictObject({ throughput: finite, latencyMs: finite, halfWidth: finite });
const knob = z.strictObject({
  set: assignment,
  basis: z.enum(['measured', 'model']),
  against: z.enum(['best', 'original']),
  trial: count.nullable(),
  levels: z.enum(['same', 'own']),
  level: load,
  with: knobFigures,
  without: knobFigures,
  ratio: finite,
  matters: z.enum(['throughput', 'latency']).nullable(),
});
const limit = z.strictObject({
  kind: z.enum([
    ...(['client', 'cpu', 'compute', 'kv-cache', 'sequences', 'queue-delay', 'outside'] as const),
    ...(['latency-budget', 'constraint', 'level-range', 'unseen', 'none'] as const),
  ]),
  busyShare: figure,
  instances: finite,
  batch: z.strictObject({ mean: finite, most: finite }).nullable(),
  cpuShare: figure,
  gpuShare: figure,
  queueShare: figure,
  outsideShare: figure,
  queueDelayMs: finite,
  engine: z
    .strictObject({
      running: figure,
      waiting: figure,
      most: figure,
      kvCacheShare: figure,
      preemptionsPerSecond: figure,
    })
    .optional(),
  missed: constraint.nullable(),
  higher: z
    .strictObject({
      level: finite,
      batch: count.optional(),
      throughput: finite,
      missed: constraint.nullable(),
      clientReason: text.nullable(),
    })
    .nullable(),
  words: text,
});
const bar = z.strictObject({
  unit: z.enum(['ms', 'infer/s']),
  parts: z.array(z.strictObject({ name: text, kind: z.enum(barKinds), value: finite })),
});
const reason: z.ZodType<Reason> = z.strictObject({
  about: z.enum(['before', 'changed', 'now', 'next']),
  words: text,
  bar: bar.nullable(),
});
const explanation: z.ZodType<Explanation> = z
  .strictObject({
    trial: count,
    before: timeSplit.nullable(),
    after: timeSplit,
    credit: z.strictObject({ knobs: z.array(knob), unknown: assignment }).nullable(),
    limit,
    bottleneck: z
      .strictObject({ stage: text, utilization: finite, gain: finite, device: text.optional(), words: text })
      .optional()
      .describe(
        'of models that are tuned together: what holds the others back, and what one more instance of it would do',
      ),
    advice: z.array(text),
    reasons: z
      .array(reason)
      .describe('what limited it before, what changed that, what limits it now, and what to try next: a line each'),
    sentences: z.array(text),
    text,
  })
  .meta({ id: 'explanation' });

const gain = z
  .strictObject({ ratio: figure, low: figure, high: figure })
  .nullable()
  .describe('best over baseline, measured in turn; null without a final');

const noiseFloor: z.ZodType<NoiseFloor> = z
  .strictObject({
    level: load,
    percentile: z.number(),
    valueMs: finite,
    lowMs: finite.describe('of the lowest window'),
    highMs: finite.describe('of the highest window'),
    medianMs: finite,
    windows: count,
    share: figure.describe(
      '(highMs − medianMs) / (budget − medianMs), from 0 to 1; null without a budget on this percentile',
    ),
  })
  .meta({ id: 'noiseFloor', description: 'latency of the original config with next to no load when the study began' });

const step: z.ZodType<Step> = z
  .lazy(() => {
    const after = z.array(count).optional().describe('places in the list of the steps that must have ended before');
    return z.union([
      z.strictObject({ stage: text, after }),
      z.strictObject({ steps: z.array(step).describe('of an ensemble inside'), after }),
    ]);
  })
  .meta({ id: 'step' });
const topology: z.ZodType<Topology> = z
  .strictObject({
    fronts: z.array(
      z.strictObject({
        model: text,
        steps: z.array(step),
        share: z.number().optional().describe('of the level, in relation to the other shares'),
        requestsPerSecond: z.number().optional().describe('whatever the level is'),
      }),
    ),
    stages: z.array(text).describe('the models with instances of their own, in the order in which requests reach them'),
    calls: z.record(text, z.array(text)).optional().describe('BLS models by name, with the models that they call'),
  })
  .meta({ id: 'topology', description: 'the models that were tuned together' });

const workloads = z
  .strictObject({
    rule: text.describe('how figures under several become one: worst, mean or quantile:SHARE'),
    holdout: z.number().optional().describe('the share of each trace that only the final saw'),
    of: z.array(
      z.strictObject({
        name: text,
        file: text,
        weight: z.number(),
        perLevel: z.number().describe('its mean requests per second over the level'),
        passSeconds: z.number(),
        digest: text.describe('of its arrivals'),
      }),
    ),
  })
  .meta({ id: 'workloads', description: 'the workloads of the study; the level is the mean rate of the first' });

const summary: z.ZodType<Summary> = z
  .strictObject({
    schemaVersion: z.literal(1),
    model: text,
    topology: topology.optional().describe('absent for one model alone'),
    workloads: workloads.optional().describe('absent where it was not tuned for workloads'),
    server: z.strictObject({ name: text, version: text }),
    emulated: text.nullable().describe("the profile, when the figures are of tritune's emulator"),
    budget: z.strictObject({ percentile: z.number(), latencyMs: z.number() }).nullable(),
    constraints: z.array(constraint),
    objectives: z.array(z.strictObject({ metric: text, weight: z.number() })),
    feasible: z.boolean().describe('whether the best meets the budget and the constraints'),
    best: z.strictObject({ ...standingFields, predicted: prediction.nullable() }).nullable(),
    baseline: standing.nullable().describe('the original config'),
    gain,
    searchGain: z
      .strictObject({ ratio: figure, low: figure, high: figure })
      .nullable()
      .describe('best over baseline by the measurements of the search, where there is no gain; null where there is'),
    rejected: z.strictObject({ trial: count, reason: text }).nullable(),
    noiseFloor: noiseFloor.nullable(),
    clientBound: z.strictObject({ measurements: count, reason: text }).nullable(),
    explanation: explanation.nullable(),
    speed,
    pareto: z.array(point),
    counts: z.strictObject({ trials: count, measurements: count, reloads: count, failed: count }),
    wallSeconds: figure,
    stopReason: text,
    interrupted: z.boolean(),
    restored: z
      .strictObject({ how: text, verified: z.boolean(), detail: text })
      .nullable()
      .describe('null while the model is not back as it was'),
    sampler: text,
    seed: z.number(),
    modelAnalyzer: z
      .strictObject({ file: text, ignored: z.array(z.strictObject({ key: text, reason: text })) })
      .optional()
      .describe("the file of Model Analyzer's that the run was asked for with, and what of it did not count"),
    journal: text,
    trituneVersion: text,
  })
  .meta({ id: 'study' });

const entry: z.ZodType<SeriesEntry> = z
  .strictObject({
    model: text,
    directory: text.describe('of its study, from here'),
    feasible: z.boolean().nullable().describe('null while nothing was measured'),
    gain,
    best: z.strictObject({ trial: count, assignment, load, throughput, budgetLatencyMs, config: text }).nullable(),
    exitCode: z.int().nullable().describe('as if it had been tuned alone; null before its turn'),
    error: z.strictObject({ code: text, message: text }).nullable(),
  })
  .meta({ id: 'seriesModel' });

const rankedModel: z.ZodType<RankedModel> = z
  .strictObject({
    model: text,
    rank: count.describe('1 and the number of models that surely serve more'),
    throughput,
    ofFirst: gain.describe("its throughput as a share of the first one's; null for the first"),
  })
  .meta({ id: 'rankedModel' });

const seriesSummary: z.ZodType<SeriesSummary> = z
  .strictObject({
    schemaVersion: z.literal(1),
    models: z.array(entry),
    ranking: z.array(rankedModel).describe('the models that met their limits, by throughput'),
  })
  .meta({ id: 'series' });

/** Returns the JSON Schema (2020-12) of `summary.json`, of a study or of a series: the content of docs/summary.schema.json. */
export function summaryJsonSchema(): JsonObject {
  const schema = z.toJSONSchema(z.union([summary, seriesSummary])) as JsonObject;
  return { ...schema, title: 'tritune summary.json, of one study or of a series' };
}
