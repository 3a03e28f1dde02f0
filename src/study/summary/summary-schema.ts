import { z } from 'zod';
import type { JsonObject } from '#base/json.ts';
import type { ReadOnly } from '#base/read-only.ts';
import { count, json, openObject, text, writtenJsonSchema } from '#base/schema.ts';
import { machineSchema } from '#profiler/machine.ts';
import { goodputSpec } from '#spec/language-spec.ts';
import { modelAnalyzerSource } from '#spec/study-spec.ts';
import { certificate } from '../records/certificate-schema.ts';
import { noiseFloor, speed, topology, workloads } from './context-schema.ts';
import { explanation } from './explanation-schema.ts';
import { assignment, budgetLatencyMs, constraint, figure, load, ratio, throughput } from './figures-schema.ts';
import { best, point, standing } from './point-schema.ts';
import { verdicts } from './verdict.ts';

/** The form of `summary.json`; the compiler checks it against the types that are written. */

const gain = ratio.nullable().describe('best over baseline, measured in turn; null without a final');

export const summarySchema = openObject({
  schemaVersion: z.literal(1).describe('version of the format'),
  model: text.describe('the model that was tuned'),
  topology: topology.optional().describe('the models that were tuned together; absent for one model alone'),
  workloads: workloads.optional().describe('the workloads of the study; absent without workloads'),
  server: openObject({
    name: text.describe('as the server calls itself'),
    version: text.describe('its version'),
    machine: machineSchema.optional().describe('what the figures were measured on'),
  }).describe('the server'),
  emulated: text.nullable().describe("the profile, when the figures are of tritune's emulator"),
  budget: openObject({
    percentile: z.number().describe('the percentile, such as 99'),
    latencyMs: z.number().describe('highest latency allowed at it'),
  })
    .nullable()
    .describe('the latency budget; null without one'),
  constraints: z.array(constraint).describe('further limits of the goal'),
  objectives: z
    .array(
      openObject({
        metric: text.describe('name of the metric'),
        weight: z.number().describe('its weight, relative to the others'),
      }),
    )
    .describe('metrics to improve'),
  clientChanges: z
    .array(
      openObject({
        model: text.describe('the model'),
        what: text.describe('the field of its config, `name`, or an input or output'),
        before: json.describe('its value in the original config; null for none'),
        after: json.describe('its value in the best config; null for none'),
        breaks: z.boolean().describe('whether requests that were answered may now fail or get another kind of reply'),
        text: text.describe('the change as a client sees it'),
      }),
    )
    .describe('what clients notice if the best is served instead of the original config'),
  smallerBatch: openObject({
    model: text.describe('the model'),
    maxBatchSize: count.describe('the smaller max_batch_size'),
    ratio: z.number().describe('its predicted throughput within the budget over that of the best'),
  })
    .nullable()
    .describe(
      'what a max_batch_size below that which clients may use would give, if 10 % more or better; null if not, or unknown',
    ),
  latencyNote: text
    .nullable()
    .describe('what happened to latencies without a limit; null where all have one, or the original config stays'),
  assumptions: z
    .array(text)
    .optional()
    .describe('what was made up for the requests, and so is measured; absent if nothing was'),
  goodput: goodputSpec.optional().describe('limits of a good request; absent without goodput limits'),
  feasible: z.boolean().describe('whether the best meets the budget and the constraints'),
  verdict: z
    .enum(verdicts)
    .describe(
      'better: a gain over the original config was shown, or only the best meets the goal; nothing-better: the original config is as good as anything tried, and is the best; unconfirmed: the best of the search, whose gain no final has shown; infeasible: nothing meets the goal; not-measured: there are no figures',
    ),
  best: best.nullable().describe('the best config; null when nothing was measured'),
  baseline: standing.nullable().describe('the original config'),
  gain,
  searchGain: ratio
    .nullable()
    .describe('best over baseline by the measurements of the search, where there is no gain; null where there is'),
  rejected: openObject({
    trial: count.describe('the trial'),
    reason: text.describe('why it was not taken'),
    gain: ratio.nullable().optional().describe('its gain in the final; null without a comparison'),
  })
    .nullable()
    .describe('the trial that was best in the search, if the final did not confirm it'),
  noiseFloor: noiseFloor
    .nullable()
    .describe('latency of the original config with next to no load when the study began; null if unknown'),
  clientBound: openObject({
    measurements: count.describe('their number'),
    reason: text.describe('reason of the first'),
  })
    .nullable()
    .describe('measurements that do not count because the load generator was the limit; null if none'),
  explanation: explanation
    .nullable()
    .describe('why the best is the best, and what limits it; null when nothing was measured'),
  speed,
  pareto: z.array(point).describe('configs on the front of throughput and latency'),
  counts: openObject({
    trials: count.describe('trials'),
    measurements: count.describe('measurements'),
    reloads: count.describe('loads of the model, without changes of instances alone'),
    failed: count.describe('failed trials'),
  }).describe('how much was done'),
  wallSeconds: figure.describe('duration of all runs of the study'),
  stopReason: text.describe('why the search ended'),
  stopNotes: z.array(text).describe('what else there is to say about the end, the most important first'),
  certificate: certificate
    .nullable()
    .describe('how much better than the best any config of the space can be; null if the sampler cannot tell'),
  interrupted: z.boolean().describe('whether the run was interrupted'),
  restored: openObject({
    how: text.describe('by its config, a reload, an unload, not at all (nothing changed), or failed'),
    verified: z.boolean().describe('whether the config that was read back is the original one'),
    detail: text.describe('the state in words'),
  })
    .nullable()
    .describe('how the model was restored; null while it is not'),
  sampler: text.describe('the sampler'),
  seed: z.number().describe('seed of the random numbers'),
  modelAnalyzer: modelAnalyzerSource
    .optional()
    .describe('the file of Model Analyzer that the study was read from, and its ignored keys'),
  journal: text.describe('path of the journal, relative to this file'),
  trituneVersion: text.describe('version of tritune that wrote the file'),
}).meta({ id: 'study', description: 'summary.json of one study' });

const entry = openObject({
  model: text.describe('its name'),
  directory: text.describe('directory of its study, relative to this file'),
  feasible: z
    .boolean()
    .nullable()
    .describe('whether its best meets the budget and the constraints; null while nothing was measured'),
  gain,
  verdict: z.enum(verdicts).nullable().describe('as in the summary of the model; null before its turn'),
  best: openObject({
    trial: count.describe('number of the trial'),
    assignment,
    load,
    throughput,
    budgetLatencyMs,
    config: text
      .nullable()
      .describe('path of its config.pbtxt, relative to this file; null where the original config is the best'),
    measured: openObject({ throughput, budgetLatencyMs })
      .optional()
      .describe('what was measured; absent where these are the figures that decided'),
  })
    .nullable()
    .describe('the best config, in short; null when nothing was measured'),
  exitCode: z.int().nullable().describe('exit code as if it had been tuned alone; null before its turn'),
  error: openObject({ code: text.describe('the error code'), message: text.describe('what happened') })
    .nullable()
    .describe('the error that ended its study; null if none did'),
}).meta({ id: 'seriesModel', description: 'the outcome of one model of a series' });

const rankedModel = openObject({
  model: text.describe('its name'),
  rank: count.describe('1 and the number of models that surely serve more'),
  throughput,
  ofFirst: ratio.nullable().describe("its throughput as a share of the first one's; null for the first"),
}).meta({ id: 'rankedModel', description: 'the place of one model of a series' });

const seriesSummary = openObject({
  schemaVersion: z.literal(1).describe('version of the format'),
  models: z.array(entry).describe('the models, in the order of the command line'),
  ranking: z.array(rankedModel).describe('the models that met their limits, by throughput'),
}).meta({ id: 'series', description: 'summary.json of several models that were tuned one after another' });

/** The content of `summary.json` (docs/summary.schema.json). */
export type Summary = ReadOnly<z.output<typeof summarySchema>>;

export type SmallerBatch = NonNullable<Summary['smallerBatch']>;

/** The outcome of one model of a series. */
export type SeriesEntry = ReadOnly<z.output<typeof entry>>;

/** A model of a series by what its best config serves within its limits. */
export type RankedModel = ReadOnly<z.output<typeof rankedModel>>;

/** The content of the `summary.json` of several models. */
export type SeriesSummary = ReadOnly<z.output<typeof seriesSummary>>;

/**
 * Returns the JSON Schema (2020-12) of `summary.json`, of a study or of a series: the content of
 * docs/summary.schema.json.
 */
export const summaryJsonSchema = (): JsonObject => ({
  ...writtenJsonSchema(z.union([summarySchema, seriesSummary])),
  title: 'tritune summary.json, of one study or of a series',
});
