import { z } from 'zod';
import { count, figure, openObject, text } from '#base/schema.ts';
import { interval } from '#profiler/figure-schemas.ts';
import { machineSchema } from '#profiler/machine.ts';
import { measurement } from '#profiler/measurement.ts';
import { FAILURE_KINDS } from '../types.ts';
import { assignment, candidate } from './candidate-schema.ts';
import { certificate } from './certificate-schema.ts';
import { goal, levels, restriction, server } from './goal-schema.ts';
import { ofServer, stamp, trial } from './stamp-schema.ts';
import { studyStarted } from './study-started-schema.ts';

/**
 * The journal's lines, one JSON object each: everything that happened to a study, and all that
 * reports, resume and restore need. A field may be added; none is renamed or given another meaning
 * within one `schemaVersion`.
 */

const left = {
  how: z.enum(['config', 'reload', 'unload', 'nothing-changed', 'failed']).describe('how the model was restored'),
  verified: z.boolean().describe('whether the config that was read back is the original one'),
  detail: text.describe('the state in words'),
};
const wish = {
  assignment: assignment.describe('parameter of the search space → value'),
  levels,
};
const round = count.describe('round of the final');

/** A line of the journal. */
export const record = z.discriminatedUnion('type', [
  studyStarted,
  openObject({ type: z.literal('study-resumed'), ...stamp, server }).describe('Another run continues the study'),
  openObject({ type: z.literal('study-paused'), ...stamp }).describe(
    'A person paused the run: the time up to the next record does not count',
  ),
  openObject({ type: z.literal('study-continued'), ...stamp }).describe('The run goes on'),
  openObject({ type: z.literal('goal-changed'), ...stamp, goal }).describe(
    'From here on the study has another goal, which also ranks the earlier trials',
  ),
  openObject({
    type: z.literal('space-narrowed'),
    ...stamp,
    narrowing: z.record(text, restriction).describe('what is left, by parameter'),
  }).describe('From here on only this part of the search space is searched'),
  openObject({ type: z.literal('trial-requested'), ...stamp, ...wish }).describe('A person asked for a trial'),
  openObject({ type: z.literal('trial-withdrawn'), ...stamp, ...wish }).describe(
    'A person withdrew such a trial before it started',
  ),
  openObject({
    type: z.literal('trial-started'),
    ...trial,
    role: z.enum(['baseline', 'search']).describe('the original config, or one that the sampler proposed'),
    candidate,
    levels: levels.optional().describe('its load levels; absent in the baseline, whose level is searched'),
    requested: z.boolean().optional().describe('whether it is the waiting trial that was asked for first'),
    server: text.optional().describe('HOST:PORT of the server, where a study has several'),
    attempt: count.optional().describe('attempt at the trial, from 1 on, where a study has several servers'),
    bottleneck: openObject({
      trial: z.number().describe('the best trial'),
      stage: z.string().describe('the model that holds the others back'),
      utilization: figure.describe('busy instances over all instances, 0 to 1'),
      gain: figure.describe('throughput with one more instance over throughput now'),
      device: z.string().optional().describe('the device that is used up'),
    })
      .optional()
      .describe('the bottleneck that the candidate addresses, for models that are tuned together'),
    prior: text.optional().describe('the earlier study, or the file of explain, whose best is tried first'),
  }).describe('A trial begins'),
  openObject({
    type: z.literal('trial-applied'),
    ...trial,
    ...ofServer,
    change: z
      .enum(['none', 'in-place', 'full'])
      .describe('nothing changed, only instances changed, or the model was loaded again'),
    loadMs: figure.describe('duration of the load'),
    buildMs: figure.optional().describe('duration of making its files'),
    accuracy: openObject({
      elements: count.describe('compared values'),
      outsideShare: figure.describe('share of them beyond the tolerance, 0 to 1'),
      absolute: figure.describe('largest difference, in the unit of the output'),
      relative: figure.describe('largest difference, relative to the expected value'),
      metric: openObject({
        name: z.string().describe('its name'),
        value: z.number().describe('its value'),
        required: z.string().describe('its limit, such as `top1>=0.75`'),
        holds: z.boolean().describe('whether it keeps the limit'),
      })
        .optional()
        .describe("what the user's command made of the outputs"),
    })
      .optional()
      .describe('comparison of its outputs with the expected ones'),
  }).describe('The server has the candidate'),
  openObject({ type: z.literal('trial-measured'), ...trial, ...ofServer, measurement }).describe(
    'The candidate was measured at one load level',
  ),
  openObject({
    type: z.literal('trial-finished'),
    ...trial,
    ...ofServer,
    chosen: z
      .nullable(count)
      .describe('index of the measurement that represents the trial; null if nothing was measured'),
    feasible: z.boolean().describe('whether that one meets the goal'),
    failure: z
      .nullable(
        openObject({ kind: z.enum(FAILURE_KINDS).describe('its kind'), reason: text.describe('the reason in words') }),
      )
      .describe('why the trial failed; null if it did not'),
  }).describe('A trial ends'),
  openObject({
    type: z.literal('readings-doubted'),
    ...stamp,
    readings: z
      .array(
        openObject({
          trial: count.describe('number of the trial'),
          reading: count.describe('index of the measurement'),
        }),
      )
      .describe('the doubted measurements'),
  }).describe('Measurements that seem to meet the goal by chance; replaces the previous record of this type'),
  openObject({
    type: z.literal('final-measured'),
    ...trial,
    ...ofServer,
    round,
    measurement,
    rest: z.array(count).optional().describe('trials that remain in the round after this one'),
  }).describe('One turn of the final, in which the finalists and the baseline are measured in turn'),
  openObject({
    type: z.literal('server-joined'),
    ...stamp,
    server: text.describe('HOST:PORT of the server'),
    machine: machineSchema.optional(),
  }).describe('Another server takes trials of the study'),
  openObject({
    type: z.literal('server-left'),
    ...stamp,
    server: text.describe('HOST:PORT of the server'),
    reason: text.describe('why'),
  }).describe('A server takes no more trials'),
  openObject({
    type: z.literal('original-measured'),
    ...stamp,
    ...ofServer,
    server: text.describe('HOST:PORT of the server'),
    measurement,
  }).describe('The original config on one of several servers: it shows the speed of that server'),
  openObject({
    type: z.literal('round-voided'),
    ...stamp,
    round,
    slower: figure.describe('how many times slower than usual the original config was'),
  }).describe('A round of the final does not count and is repeated'),
  openObject({
    type: z.literal('gain-decided'),
    ...stamp,
    best: count.describe('number of the trial to emit'),
    gain: z
      .nullable(interval)
      .describe('its objective over that of the baseline, 1 or more is better; null if unknown'),
    verdict: z
      .enum(['better', 'nothing-better', 'unconfirmed'])
      .optional()
      .describe('whether a gain over the baseline was shown; absent in journals of 0.2.0 and before'),
    rejected: openObject({
      trial: count.describe('number of the trial'),
      gain: z.nullable(interval).describe('its objective over that of the baseline; null if unknown'),
      reason: text.describe('why it was not taken'),
    })
      .optional()
      .describe('the trial that was played and not taken'),
  }).describe('The outcome of the final'),
  openObject({
    type: z.literal('tracing-started'),
    ...trial,
    earlier: z.record(text, z.array(text)).describe('the settings that change, as they were before'),
    file: text.describe("file of the traces, on the server's disk"),
  }).describe('The server traces a measurement: from here on `restore` puts its settings back'),
  openObject({
    type: z.literal('tracing-ended'),
    ...stamp,
    verified: z.boolean().describe('whether the settings that were read back are the earlier ones'),
    detail: text.describe('the state in words'),
  }).describe('The settings of tracing were put back'),
  openObject({
    type: z.literal('model-restored'),
    ...stamp,
    ...left,
    servers: z
      .array(openObject({ server: text.describe('HOST:PORT of the server'), ...left }))
      .optional()
      .describe('how each server was left, where a study has several'),
  }).describe('The model was restored, or could not be'),
  openObject({
    type: z.literal('study-finished'),
    ...stamp,
    stopReason: text.describe('why the search ended'),
    notes: z.array(text).optional().describe('what else there is to say about the end, the most important first'),
    certificate: certificate.optional().describe('how good other configs can be; absent if the sampler cannot tell'),
    interrupted: z.boolean().describe('whether the run was interrupted'),
    wallSeconds: figure.describe('duration of all runs of the study'),
  }).describe('The last record of a run'),
]);
