import { z } from 'zod';
import { isTrituneError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import { isSound } from '../../space/model-configs.ts';
import { studySpec } from '../../spec/study-spec.ts';
import { builtInMetrics, type Metrics } from '../goal/metrics/registry.ts';
import type { Goal } from '../types.ts';
import { migrated } from './migrate.ts';
import type { StudyRecord } from './records.ts';

/** JSON has no NaN: a figure that could not be computed was written as null, and is read as NaN again. */
const figure = z.union([z.number(), z.null().transform(() => Number.NaN)]);
/** Not in the journals of earlier versions. */
const laterFigure = figure.default(Number.NaN);
const count = z.number().int().nonnegative();
const text = z.string();
const json = z.looseObject({});
/** `runMs` is not in the journals of earlier versions. */
const stamp = { at: text, runMs: z.number().nonnegative().optional() };

const level = z.looseObject({
  mode: z.enum(['concurrency', 'request-rate']),
  value: z.number(),
  batch: count.optional(),
});
const interval = z.looseObject({ value: figure, low: figure, high: figure });
const failure = z.looseObject({ kind: text, reason: text });

/** Figures of all requests, and of those of each front. */
const seen = z.looseObject({
  level,
  throughput: interval,
  latencyMs: z.looseObject({
    avg: figure,
    p50: figure,
    p90: figure,
    p95: figure,
    p99: figure,
    max: figure,
    min: laterFigure,
    std: laterFigure,
  }),
  budgetLatencyMs: interval.extend({ percentile: z.number() }),
  stable: z.boolean(),
  durationMs: figure,
  requests: count,
  sendRate: laterFigure,
  failures: z.array(z.looseObject({ kind: text, count, firstMessage: text })),
  errorRate: figure,
  server: z.nullable(json),
  composing: z.array(z.looseObject({ model: text, version: text })).optional(),
  goodput: interval.optional(),
});

const latencySummary = z.looseObject({
  ...{ avg: figure, p50: figure, p90: figure, p95: figure, p99: figure, max: figure, min: figure, std: figure },
});
const lengthSummary = z.looseObject({ mean: figure, std: figure, min: figure, max: figure });

/** Token figures of a language model. */
const tokens = z.looseObject({
  ttftMs: latencySummary,
  scheduledTtftMs: latencySummary.optional(),
  itlMs: latencySummary,
  tpotMs: latencySummary,
  budget: z.looseObject({ ttftMs: interval, itlMs: interval, tpotMs: interval }),
  outputTokensPerSecond: interval,
  totalTokensPerSecond: interval,
  outputTokensPerSecondPerUser: figure,
  goodput: interval.optional(),
  badShare: interval.optional(),
  inputTokens: lengthSummary,
  outputTokens: lengthSummary,
  cachedShare: figure.optional(),
  countedBy: z.enum(['usage', 'tokenizer', 'pieces']),
  cutOff: count,
});

/** Figures from the metrics page of a language model's engine. */
const engine = z.looseObject({
  runningSequences: figure.optional(),
  waitingSequences: figure.optional(),
  kvCacheShare: figure.optional(),
  preemptionsPerSecond: figure.optional(),
});

/** Figures of the requests of one class. */
const requestClass = z.looseObject({
  ...{ name: text, model: text.optional(), requests: count, failures: count },
  ...{ throughput: interval, goodput: interval.optional(), latencyMs: latencySummary },
  budgetLatencyMs: interval.extend({ percentile: z.number() }).optional(),
});

const measuredOnce = seen.extend({
  classes: z.array(requestClass).optional(),
  tokens: tokens.optional(),
  engine: engine.optional(),
  windowPercentilesMs: z.looseObject({ low: figure, high: figure }).optional(),
  windows: count,
  fronts: z.array(seen.extend({ model: text })).optional(),
  device: json,
  clientTimes: z
    .looseObject({
      requests: count,
      marshalUs: figure,
      sendUs: figure,
      waitUs: figure,
      receiveUs: figure,
      unmarshalUs: figure,
    })
    .optional(),
  client: z.looseObject({ cpuUsPerRequest: figure, eventLoopDelayMs: figure, bound: z.boolean().default(false) }),
});

const measurement = measuredOnce.extend({
  workloads: z
    .array(measuredOnce.extend({ workload: text, weight: z.number().positive() }))
    .min(1)
    .optional(),
});

const ownShape = z.looseObject({
  policy: z.looseObject({
    maxBatchSize: z.number(),
    preferredBatchSizes: z.array(z.number()),
    maxQueueDelayNs: z.number(),
    instances: z.number(),
    devices: z.number().optional(),
    dynamicBatching: z.boolean(),
    prefetch: z.boolean().optional(),
  }),
  scheduling: z.enum(['batcher', 'sequence', 'ensemble', 'decoupled', 'network', 'continuous', 'unknown']),
  groups: z.array(
    z.looseObject({
      ...{ device: z.enum(['auto', 'cpu', 'gpu', 'model']), count: z.number(), place: text },
      gpus: z.array(z.number()).optional(),
    }),
  ),
  batching: text,
  rest: text,
  settings: z.record(text, text),
  parallelGpus: z.number().positive().optional(),
});

const shape = ownShape.extend({ members: z.record(text, ownShape).optional() });

const step: z.ZodType = z.lazy(() =>
  z.union([z.looseObject({ stage: text }), z.looseObject({ steps: z.array(step).min(1) })]),
);
const topology = z.looseObject({
  fronts: z
    .array(
      z.looseObject({
        ...{ model: text, steps: z.array(step).min(1) },
        ...{ share: z.number().positive().optional(), requestsPerSecond: z.number().positive().optional() },
      }),
    )
    .min(1),
  stages: z.array(text).min(1),
  calls: z.record(text, z.array(text)).optional(),
});

/** Code that reads a candidate's value assumes the types of its fields. */
const value = json.refine((each) => isSound(each as JsonObject), 'it holds what is not a model config');

const candidate = z.looseObject({ fingerprint: text, assignment: json, value, shape });

const server = z.looseObject({
  name: text,
  version: text,
  url: text,
  protocol: text,
  controlUrl: text,
  controlProtocol: text,
  emulated: z.nullable(text),
});

const goal = z.looseObject({
  budget: z.nullable(z.looseObject({ percentile: z.number(), latencyMs: z.number() })),
  constraints: z.array(z.looseObject({ metric: text, relation: z.enum(['<=', '>=']), value: z.number() })),
  objectives: z.array(z.looseObject({ metric: text, weight: z.number().positive() })).min(1),
  cost: z
    .looseObject({
      ...{ currency: text, name: text, per: z.enum(['gpu', 'server']), perHour: z.number().positive() },
      serverGpus: z.number().int().positive().optional(),
      forRate: z.union([z.number().positive(), z.record(text, z.number().positive())]).optional(),
      headroom: z.number().min(0).lt(1),
      chance: z.number().gt(0).lt(1),
      instanceTypes: z
        .array(
          z.looseObject({
            name: text.describe('Name in the prices'),
            gpus: z.number().positive().describe('GPUs or slices that it has'),
            perHour: z.number().positive().describe('Price of an hour, in the currency'),
          }),
        )
        .optional()
        .describe('Types of instances in the prices with the same GPU'),
    })
    .optional(),
});

const levels = z.discriminatedUnion('kind', [
  z.looseObject({ kind: z.literal('search'), start: z.number().positive().optional(), batch: count.optional() }),
  z.looseObject({ kind: z.literal('fixed'), values: z.array(z.number()), batch: count.optional() }),
]);

const restriction = z.union([z.looseObject({ pinned: z.json() }), z.looseObject({ excluded: z.array(z.json()) })]);

const trial = { ...stamp, trial: count };
/** Fields of records in studies over several servers. */
const ofServer = { server: text.optional(), work: text.optional() };
const left = {
  how: z.enum(['config', 'reload', 'unload', 'nothing-changed', 'failed']),
  verified: z.boolean(),
  detail: text,
};

const record = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.literal('study-started'),
    ...stamp,
    schemaVersion: z.literal(2),
    adapter: text,
    model: text,
    server,
    original: candidate,
    wasLoaded: z.boolean(),
    unloadedOthers: z.array(text).optional(),
    topology: topology.optional(),
    goal,
    levels: z.looseObject({
      ...{ mode: z.enum(['concurrency', 'request-rate']), low: z.number(), high: z.number() },
      batch: z.looseObject({ low: count, high: count }).optional(),
    }),
    workloads: z
      .looseObject({
        rule: text,
        holdout: z.number().optional(),
        of: z
          .array(
            z.looseObject({
              ...{ name: text, file: text, weight: z.number().positive(), perLevel: z.number().positive() },
              ...{ passSeconds: z.number(), digest: text },
            }),
          )
          .min(1),
      })
      .optional(),
    sampler: text,
    seed: z.number(),
    space: json,
    spec: studySpec,
    commandLine: z.array(text),
    modelAnalyzer: z
      .looseObject({ file: text, ignored: z.array(z.looseObject({ key: text, reason: text })) })
      .optional(),
    trituneVersion: text,
  }),
  z.looseObject({ type: z.literal('study-resumed'), ...stamp, server }),
  z.looseObject({ type: z.literal('study-paused'), ...stamp }),
  z.looseObject({ type: z.literal('study-continued'), ...stamp }),
  z.looseObject({ type: z.literal('goal-changed'), ...stamp, goal }),
  z.looseObject({ type: z.literal('space-narrowed'), ...stamp, narrowing: z.record(text, restriction) }),
  z.looseObject({ type: z.literal('trial-requested'), ...stamp, assignment: json, levels }),
  z.looseObject({ type: z.literal('trial-withdrawn'), ...stamp, assignment: json, levels }),
  z.looseObject({
    type: z.literal('trial-started'),
    ...trial,
    role: z.enum(['baseline', 'search']),
    candidate,
    levels: levels.optional(),
    requested: z.boolean().optional(),
    server: text.optional(),
    attempt: count.optional(),
    bottleneck: z
      .looseObject({
        trial: z.number(),
        stage: z.string(),
        utilization: figure,
        gain: figure,
        device: z.string().optional(),
      })
      .optional(),
  }),
  z.looseObject({
    type: z.literal('trial-applied'),
    ...{ ...trial, ...ofServer },
    change: z.enum(['none', 'in-place', 'full']),
    loadMs: figure,
    buildMs: figure.optional(),
    accuracy: z.looseObject({ elements: count, outsideShare: figure, absolute: figure, relative: figure }).optional(),
  }),
  z.looseObject({ type: z.literal('trial-measured'), ...trial, ...ofServer, measurement }),
  z.looseObject({
    type: z.literal('trial-finished'),
    ...{ ...trial, ...ofServer },
    chosen: z.nullable(count),
    feasible: z.boolean(),
    failure: z.nullable(failure),
  }),
  z.looseObject({
    type: z.literal('readings-doubted'),
    ...stamp,
    readings: z.array(z.looseObject({ trial: count, reading: count })),
  }),
  z.looseObject({
    ...{ type: z.literal('final-measured'), ...trial, ...ofServer, round: count, measurement },
    rest: z.array(count).optional(),
  }),
  z.looseObject({ type: z.literal('server-joined'), ...stamp, server: text }),
  z.looseObject({ type: z.literal('server-left'), ...stamp, server: text, reason: text }),
  z.looseObject({ type: z.literal('original-measured'), ...stamp, ...ofServer, server: text, measurement }),
  z.looseObject({ type: z.literal('round-voided'), ...stamp, round: count, slower: figure }),
  z.looseObject({ type: z.literal('gain-decided'), ...stamp, best: count, gain: z.nullable(interval) }),
  z.looseObject({
    type: z.literal('tracing-started'),
    ...trial,
    earlier: z.record(text, z.array(text)),
    file: text,
  }),
  z.looseObject({ type: z.literal('tracing-ended'), ...stamp, verified: z.boolean(), detail: text }),
  z.looseObject({
    type: z.literal('model-restored'),
    ...{ ...stamp, ...left },
    servers: z.array(z.looseObject({ server: text, ...left })).optional(),
  }),
  z.looseObject({
    type: z.literal('study-finished'),
    ...stamp,
    stopReason: text,
    interrupted: z.boolean(),
    wallSeconds: figure,
  }),
]);

/**
 * Returns the value as a record of this version, or what is wrong with it. Fields unknown to this version are kept. `metrics` defines the names in
 * goals, and goes with each goal; a name that it lacks is a fault.
 */
export function checkRecord(
  value: unknown,
  metrics: Metrics = builtInMetrics,
): { readonly record: StudyRecord } | { readonly fault: string } {
  const current = inThisForm(value);
  if ('fault' in current) return current;
  const outcome = record.safeParse(current.value);
  if (outcome.success) return withMetrics(outcome.data as unknown as StudyRecord, metrics);
  const issue = outcome.error.issues[0];
  return { fault: issue ? `${issue.path.join('.') || 'record'}: ${issue.message}` : 'not a record' };
}

function inThisForm(value: unknown): { readonly value: unknown } | { readonly fault: string } {
  try {
    return { value: migrated(value) };
  } catch (error) {
    if (isTrituneError(error, 'USAGE')) return { fault: error.message };
    throw error;
  }
}

function withMetrics(
  read: StudyRecord,
  metrics: Metrics,
): { readonly record: StudyRecord } | { readonly fault: string } {
  if (read.type !== 'study-started' && read.type !== 'goal-changed') return { record: read };
  // A registry holds functions: a field of that name in a file is none.
  const { metrics: _, ...goal } = read.goal;
  const unknown = namesIn(goal).find((name) => !metrics.has(name));
  if (unknown !== undefined) return { fault: `goal: '${unknown}' is none of the metrics ${metrics.names.join(', ')}` };
  return { record: { ...read, goal: metrics === builtInMetrics ? goal : { ...goal, metrics } } };
}

const namesIn = ({ objectives, constraints }: Goal): readonly string[] =>
  [...objectives, ...constraints].map(({ metric }) => metric);
