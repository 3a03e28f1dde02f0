import { z } from 'zod';
import type { ReadOnly } from '#base/read-only.ts';
import { count, openObject, text } from '#base/schema.ts';
import { assignment, constraint, figure, finite, load } from './figures-schema.ts';

/** Why the best is the best, in `summary.json`. */

const timeSplit = openObject({
  totalMs: finite.describe('mean latency of a request, at a request rate from when it was due'),
  parts: openObject({
    queueMs: finite.describe('in the queue of the server'),
    computeMs: finite.describe('in execution, with input and output'),
    outsideMs: finite.describe('the rest: network, front end and client'),
  })
    .nullable()
    .describe('parts of it, which add up; null without statistics of the server'),
  execution: openObject({ batchSize: finite.describe('samples'), meanMs: finite.describe('duration') })
    .nullable()
    .describe('the mean execution; null without statistics of the server'),
}).meta({ id: 'timeSplit', description: 'where the mean latency of a request goes' });

const knobFigures = openObject({
  throughput: finite.describe('inferences per second'),
  latencyMs: finite.describe('latency at the percentile of the budget'),
  halfWidth: finite.describe('half the 95 % interval of the throughput, as a share of it; 0 by the model'),
}).meta({ id: 'knobFigures', description: 'figures of one config in a comparison' });

const knob = openObject({
  set: assignment.describe('the changed parameters and their values'),
  basis: z.enum(['measured', 'model']).describe('a trial that differs in nothing else, or the performance model'),
  against: z.enum(['best', 'original']).describe('the config that is compared with and without the parameters'),
  trial: count.nullable().describe('the trial that was measured for it; null for the model'),
  levels: z.enum(['same', 'own']).describe('whether both are at one load level, or each at its best'),
  level: load,
  with: knobFigures.describe('figures with the parameters'),
  without: knobFigures.describe('figures without them'),
  ratio: finite.describe('throughput with the parameters over throughput without them'),
  matters: z.enum(['throughput', 'latency']).nullable().describe('the figure that differs; null if neither does'),
}).meta({ id: 'knob', description: 'the effect of one change of the best' });

/** The limit on the throughput of the best. */
const limitKinds = [
  /** The load generator itself. */
  'client',
  /** The server's machine has no CPU time left. */
  'cpu',
  /** Every instance is always busy, or the device that models share is used up. */
  'compute',
  /** The KV cache of a language model's engine is full, and requests wait for a place in it. */
  'kv-cache',
  /** A language model's engine runs the most sequences that it may, and others wait. */
  'sequences',
  /** Requests wait for larger batches while instances are idle. */
  'queue-delay',
  /** Most of the time is spent outside the server's queue and compute. */
  'outside',
  /** The budget is missed, or would be with more load. */
  'latency-budget',
  /** The same for another constraint of the goal. */
  'constraint',
  /** No higher load was allowed. */
  'level-range',
  /** More load serves no more, and no measurement shows why. */
  'unseen',
  /** No measured figure is at its limit. */
  'none',
] as const;

export const limit = openObject({
  kind: z.enum(limitKinds).describe('what limits the throughput'),
  stage: text
    .optional()
    .describe('of several models the one that limits, which the instances, batches and delay below are of'),
  device: text
    .optional()
    .describe('the device that the models share, if it is used up: one more instance of any model gives nothing'),
  busyShare: figure.describe('share of the time that an instance executes, 0 to 1; null without statistics'),
  instances: finite.describe('instances of the model'),
  batch: openObject({ mean: finite.describe('mean samples in one execution'), most: finite.describe('most possible') })
    .nullable()
    .describe('batches; null without batching or statistics'),
  cpuShare: figure.describe("CPU utilization of the server's machine, 0 to 1; null when not measured"),
  gpuShare: figure.describe('utilization of the busiest GPU, 0 to 1; null when not measured'),
  queueShare: figure.describe("the queue's share of the mean latency, 0 to 1; null without statistics"),
  outsideShare: figure.describe('share of the mean latency outside queue and execution, 0 to 1'),
  queueDelayMs: finite.describe('queue delay of the config'),
  engine: openObject({
    running: figure.describe('mean sequences that run'),
    waiting: figure.describe('mean sequences that wait'),
    most: figure.describe('most sequences that run at once'),
    kvCacheShare: figure.describe('share of the KV cache in use, 0 to 1'),
    preemptionsPerSecond: figure.describe('sequences that lose their place in the KV cache'),
  })
    .optional()
    .describe("load of a language model's engine"),
  missed: constraint.nullable().describe('the first constraint that it misses; null when it meets all'),
  higher: openObject({
    level: finite.describe('the level'),
    batch: count.optional().describe('samples in one request, where the study varies them'),
    throughput: finite.describe('inferences per second'),
    missed: constraint.nullable().describe('the first constraint that it misses there'),
    clientReason: text.nullable().describe('why the load generator was the limit there; null if it was not'),
  })
    .nullable()
    .describe('its measurement at a higher level; null without one'),
  words: text.describe('the limit in a sentence'),
}).meta({ id: 'limit', description: 'what limits the best config, with the evidence' });

const barKinds = [
  'queue',
  'compute',
  'outside',
  'first-token',
  'other-tokens',
  /** The whole time of a request in one model of a pipeline. */
  'stage',
  /** A time that has no parts. */
  'whole',
  /** The figure without a parameter; for latencies the rest with it. */
  'without',
  /** The part that the parameter adds, or saves. */
  'gained',
] as const;

const bar = openObject({
  unit: z.enum(['ms', 'infer/s', 'requests/s']).describe('unit of the values'),
  parts: z
    .array(
      openObject({
        name: text.describe('its name'),
        kind: z.enum(barKinds).describe('its kind, for the colour'),
        value: finite.describe('its length'),
      }),
    )
    .describe('parts, which add up to the length of the bar'),
});

const reason = openObject({
  about: z
    .enum(['before', 'changed', 'now', 'next'])
    .describe('the limit of the original config, the change, the limit of the best, or what to try next'),
  words: text.describe('a phrase'),
  bar: bar.nullable().describe('a bar to draw beside it; null if there is nothing to draw'),
}).meta({ id: 'reason', description: 'one line of the reasons' });

export const explanation = openObject({
  trial: count.describe('the trial that is explained'),
  before: timeSplit
    .nullable()
    .describe(
      'where the time of a request to the original config went; null when that is the best, or was not measured',
    ),
  after: timeSplit.describe('the same for the best'),
  credit: openObject({
    knobs: z.array(knob).describe('effects of the changes, the largest first'),
    unknown: assignment.describe('changed parameters whose effect is unknown'),
  })
    .nullable()
    .describe('what each change did; null when the original config is the best, or no effect is known'),
  limit,
  bottleneck: openObject({
    stage: text.describe('the model'),
    utilization: finite.describe('busy instances over all instances, 0 to 1'),
    gain: finite.describe('throughput with one more instance over throughput now'),
    device: text.optional().describe('the device that is used up, where no further instance helps'),
    words: text.describe('the same in a sentence'),
  })
    .optional()
    .describe(
      'of models that are tuned together: what holds the others back, and what one more instance of it would do',
    ),
  advice: z.array(text).describe('what to try besides the config'),
  reasons: z
    .array(reason)
    .describe('what limited it before, what changed that, what limits it now, and what to try next: a line each'),
  sentences: z.array(text).describe('the whole explanation in sentences'),
  text: text.describe('the same as one paragraph'),
}).meta({ id: 'explanation', description: 'why the best is the best, and what limits it' });

/** Why the best is the best and what limits it, in numbers and in words. */
export type Explanation = ReadOnly<z.output<typeof explanation>>;

/** The parts of a request's mean latency, in milliseconds; the three parts add up to `totalMs`. */
export type TimeSplit = ReadOnly<z.output<typeof timeSplit>>;

/** The effects of all changed parameters of the best. */
export type Credit = NonNullable<Explanation['credit']>;

/** The effect of one changed parameter of the best. */
export type ParameterCredit = Credit['knobs'][number];

/** The figures of one config in a comparison. */
export type ParameterFigures = ParameterCredit['with'];

/** The limit of the best, with its evidence. */
export type Limit = Omit<Explanation['limit'], 'words'>;

export type LimitKind = Limit['kind'];

/** One line of the short list on why the best is the best: one idea, and the bar that shows it. */
export type Reason = Explanation['reasons'][number];

/** A bar next to a reason: parts that add up to its length. */
export type ReasonBar = NonNullable<Reason['bar']>;

/** One part of a bar, in the bar's unit. */
export type TimePart = ReasonBar['parts'][number];

export type BarKind = TimePart['kind'];
