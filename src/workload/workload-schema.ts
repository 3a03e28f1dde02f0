import { z } from 'zod';
import { distributionSpec } from '#base/distribution-spec.ts';
import type { JsonObject } from '#base/json.ts';
import { promptSpec } from './prompt-spec.ts';
import { requestSpec } from './request-spec.ts';

/** The form of a workload file. `check.ts` checks what it cannot express. */

const text = z.string().min(1);
const positive = z.number().positive();
/** A year: no run waits longer, and a number of nanoseconds can still hold it. */
const seconds = positive.max(366 * 24 * 3600);
const perSecond = z.number().nonnegative().max(1e7).describe('Requests per second');
/**
 * The largest index of a class in a plan is that of 16 bits; nobody reads a table of more classes
 * than this.
 */
const MAX_CLASSES = 1000;
const MAX_PHASES = 100_000;

const { batch, inputData, shape, integers, stringData, stringLength, requestParameter } = requestSpec.shape;

const requestClass = z.strictObject({
  weight: z.number().nonnegative().default(1).describe('Its share of the requests, relative to the other weights'),
  limitMs: positive
    .optional()
    .describe('A good request of the class ends within this, in milliseconds from when it is due'),
  ttftMs: positive.optional().describe('Limit of the time to first token of a language model, in milliseconds'),
  itlMs: positive.optional().describe('Limit of each gap between tokens of a language model, in milliseconds'),
  tpotMs: positive.optional().describe('Limit of the time per output token of a language model, in milliseconds'),
  model: text.optional().describe("Its model; the command's by default"),
  endpoint: text.optional().describe("Its endpoint, as `--endpoint` takes it; the command's by default"),
  requests: z
    .strictObject({
      batch: batch.unwrap().optional().describe('Samples in one request'),
      inputData,
      shape,
      integers,
      stringData,
      stringLength,
      requestParameter,
    })
    .optional()
    .describe('Requests of the class, where they differ from those of the command; paths are relative to this file'),
  prompts: promptSpec
    .pick({ promptFile: true, inputTokens: true, outputTokens: true, prompts: true })
    .extend(promptSpec.pick({ prefixPrompts: true, prefixTokens: true, ignoreEos: true }).shape)
    .optional()
    .describe('Prompts for a language model'),
});

const weights = z.record(text, z.number().nonnegative());
const mix = z
  .union([
    weights,
    z.strictObject({
      from: weights.describe('Weights at the start of the phase'),
      to: weights.describe('Weights at its end; they change evenly in between'),
    }),
  ])
  .describe('Weights of the classes in this phase, in place of their own: a class that is not named sends nothing');

const cv = z
  .number()
  .nonnegative()
  .max(100)
  .describe('Coefficient of variation of the gaps: 0 evenly spaced, 1 as in a Poisson process, above 1 in bursts');

const timeUnits = ['s', 'ms', 'us', 'ns'] as const;

const traceArrivals = z.strictObject({
  process: z.literal('trace').describe('Recorded times'),
  file: text.optional().describe('A time a line, CSV, JSON lines or a JSON list; the path is relative to this file'),
  atS: z.array(z.number().nonnegative()).min(1).optional().describe('The times themselves, in seconds'),
  classOf: z.array(text).optional().describe('The class of each of atS'),
  column: text.optional().describe('Column of CSV or field of JSON with the time; found by its name if not given'),
  classColumn: text.optional().describe('Column or field with the name of the class'),
  unit: z.enum(timeUnits).optional().describe('Unit of times that are numbers; s if not given'),
  slice: z
    .strictObject({
      fromS: z.number().nonnegative().describe('Its start, in seconds'),
      toS: positive.describe('Its end, in seconds'),
    })
    .refine(({ fromS, toS }) => fromS < toS, 'a slice must not end before it begins')
    .optional()
    .describe('Part of the trace, in seconds since its first request'),
  resolutionS: z
    .number()
    .nonnegative()
    .max(3600)
    .optional()
    .describe(
      'Step in seconds of the clock that the times are from: arrivals are spread evenly over one; 0 if not given',
    ),
});

const arrivals = z
  .discriminatedUnion('process', [
    z.strictObject({ process: z.literal('constant').describe('Evenly spaced arrivals'), perSecond }),
    z.strictObject({
      process: z.literal('poisson').describe('Independent arrivals, as from many users'),
      perSecond,
    }),
    z.strictObject({ process: z.literal('gamma').describe('Gaps of a gamma distribution, for bursts'), perSecond, cv }),
    z.strictObject({
      process: z.literal('ramp').describe('A rate that changes evenly'),
      fromPerSecond: perSecond.describe('Requests per second at the start of the phase'),
      toPerSecond: perSecond.describe('Requests per second at its end'),
      cv: cv.default(1),
    }),
    z.strictObject({
      process: z.literal('diurnal').describe('A rate that rises and falls over the day, as a cosine'),
      perSecond: perSecond.describe('Mean requests per second over a period'),
      peakRatio: z.number().min(1).max(1e6).describe('The highest rate over the lowest'),
      periodS: seconds.default(86_400).describe('Length of a period, in seconds'),
      peakAtS: z
        .number()
        .nonnegative()
        .optional()
        .describe('When the rate is highest, in seconds; in the middle if not given'),
      cv: cv.default(1),
    }),
    traceArrivals,
  ])
  .meta({ id: 'arrivals', description: 'When requests come: the process of the arrivals, and its fields' });

const phase = z.strictObject({
  name: text.optional().describe('Name of the phase, for people'),
  durationS: seconds
    .optional()
    .describe(
      'Length in seconds; only a trace needs none, and then lasts from its first request to one mean gap after its last',
    ),
  arrivals,
  weights: mix.optional(),
});

/** Says which requests arrive when. */
export const workloadFile = z.strictObject({
  workloadVersion: z.literal(1).describe('Version of the format'),
  name: text.optional().describe("The file's name if not given"),
  description: z.string().optional().describe('Notes for people'),
  classes: z
    .record(text.max(200), requestClass)
    .refine((all) => Object.keys(all).length > 0, 'at least one class is needed')
    .refine((all) => Object.keys(all).length <= MAX_CLASSES, `at most ${MAX_CLASSES} classes are read`)
    .optional()
    .describe('Request classes by name; one, `default`, if not given'),
  phases: z
    .array(phase)
    .min(1)
    .max(MAX_PHASES)
    .describe('Phases, one after the other; the file repeats from its start'),
  sessions: z
    .strictObject({
      turns: distributionSpec.describe('Requests of a session'),
      thinkTimeMs: distributionSpec.describe('From one request of a session to the next, in milliseconds'),
    })
    .optional()
    .describe('Each arrival begins a session; its other requests follow at think times'),
});

export type WorkloadFile = z.infer<typeof workloadFile>;
export type PhaseFile = WorkloadFile['phases'][number];
export type TraceFileArrivals = z.infer<typeof traceArrivals>;
export type TimeUnit = (typeof timeUnits)[number];
/** A workload file as people write it. */
export type WorkloadFileInput = z.input<typeof workloadFile>;

/**
 * Returns the JSON Schema (2020-12) of a workload file, for editors: what docs/workload.schema.json
 * holds.
 */
export function workloadJsonSchema(): JsonObject {
  const schema = z.toJSONSchema(workloadFile, { io: 'input' }) as JsonObject;
  return { ...schema, title: 'tritune workload' };
}
