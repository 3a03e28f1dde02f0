import { z } from 'zod';
import { isTrituneError } from '../base/errors.ts';
import { normaliseConfig } from '../triton/config-normal-form.ts';
import { metricNames } from './metrics.ts';
import type { StudyRecord } from './records.ts';

/** JSON has no NaN: a figure that could not be computed was written as null, and is read as NaN again. */
const figure = z.union([z.number(), z.null().transform(() => Number.NaN)]);
/** Not in the journals of earlier versions. */
const laterFigure = figure.default(Number.NaN);
const count = z.number().int().nonnegative();
const text = z.string();
const json = z.looseObject({});
const metric = z.enum(metricNames as readonly [string, ...string[]]);
const modelConfig = json.refine(isModelConfig, 'it is no model config');
/** `runMs` is not in the journals of earlier versions. */
const stamp = { at: text, runMs: z.number().nonnegative().optional() };

const level = z.looseObject({ mode: z.enum(['concurrency', 'request-rate']), value: z.number() });
const interval = z.looseObject({ value: figure, low: figure, high: figure });
const failure = z.looseObject({ kind: text, reason: text });

const measurement = z.looseObject({
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
  windowPercentilesMs: z.looseObject({ low: figure, high: figure }).optional(),
  stable: z.boolean(),
  windows: count,
  durationMs: figure,
  requests: count,
  sendRate: laterFigure,
  failures: z.array(z.looseObject({ kind: text, count, firstMessage: text })),
  errorRate: figure,
  server: z.nullable(json),
  device: json,
  client: z.looseObject({ cpuUsPerRequest: figure, eventLoopDelayMs: figure, bound: z.boolean().default(false) }),
});

const candidate = z.looseObject({ fingerprint: text, assignment: json, config: modelConfig });

const server = z.looseObject({
  name: text,
  version: text,
  url: text,
  protocol: z.enum(['grpc', 'http']),
  controlUrl: text,
  controlProtocol: z.enum(['grpc', 'http']),
  emulated: z.nullable(text),
});

const goal = z.looseObject({
  budget: z.nullable(z.looseObject({ percentile: z.number(), latencyMs: z.number() })),
  constraints: z.array(z.looseObject({ metric, relation: z.enum(['<=', '>=']), value: z.number() })),
  objectives: z.array(z.looseObject({ metric, weight: z.number().positive() })).min(1),
});

const levels = z.discriminatedUnion('kind', [
  z.looseObject({ kind: z.literal('search'), start: z.number().positive().optional() }),
  z.looseObject({ kind: z.literal('fixed'), values: z.array(z.number()) }),
]);

const restriction = z.union([z.looseObject({ pinned: z.json() }), z.looseObject({ excluded: z.array(z.json()) })]);

const trial = { ...stamp, trial: count };

const record = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.literal('study-started'),
    ...stamp,
    schemaVersion: z.literal(1),
    model: text,
    server,
    originalConfig: modelConfig,
    wasLoaded: z.boolean(),
    goal,
    levels: z.looseObject({ mode: z.enum(['concurrency', 'request-rate']), low: z.number(), high: z.number() }),
    sampler: text,
    seed: z.number(),
    space: json,
    options: json,
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
  }),
  z.looseObject({
    type: z.literal('trial-applied'),
    ...trial,
    change: z.enum(['none', 'in-place', 'full']),
    loadMs: figure,
  }),
  z.looseObject({ type: z.literal('trial-measured'), ...trial, measurement }),
  z.looseObject({
    type: z.literal('trial-finished'),
    ...trial,
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
    ...{ type: z.literal('final-measured'), ...trial, round: count, measurement },
    rest: z.array(count).optional(),
  }),
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
    ...stamp,
    how: z.enum(['config', 'reload', 'unload', 'nothing-changed', 'failed']),
    verified: z.boolean(),
    detail: text,
  }),
  z.looseObject({
    type: z.literal('study-finished'),
    ...stamp,
    stopReason: text,
    interrupted: z.boolean(),
    wallSeconds: figure,
  }),
]);

/** Everybody who looks at a config takes its fields to be of their types. */
function isModelConfig(value: unknown): boolean {
  try {
    normaliseConfig(value);
    return !holdsNull(value);
  } catch (error) {
    if (isTrituneError(error, 'CONFIG_INVALID')) return false;
    throw error;
  }
}

/** In a config that is to be normalised null stands for nothing; in one that was, there is none. */
const holdsNull = (value: unknown): boolean =>
  value === null || (typeof value === 'object' && Object.values(value).some(holdsNull));

/** The value as a record, or what is wrong with it. Fields that this version does not know are kept. */
export function checkRecord(value: unknown): { readonly record: StudyRecord } | { readonly fault: string } {
  const outcome = record.safeParse(value);
  if (outcome.success) return { record: outcome.data as unknown as StudyRecord };
  const issue = outcome.error.issues[0];
  return { fault: issue ? `${issue.path.join('.') || 'record'}: ${issue.message}` : 'not a record' };
}
