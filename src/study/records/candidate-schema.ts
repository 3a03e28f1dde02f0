import { z } from 'zod';
import { createJsonObject, figure, jsonObject, openObject, text } from '#base/schema.ts';
import type { Step } from '#queueing/network/types.ts';
import { isSound } from '#space/model-configs.ts';
import type { Assignment } from '#space/types.ts';

/** Candidates and models in the journal. */

const ownShape = openObject({
  policy: openObject({
    maxBatchSize: z.number().describe('largest batch; 0 without batching'),
    preferredBatchSizes: z.array(z.number()).describe('batch sizes that are sent at once'),
    maxQueueDelayNs: z.number().describe('how long a request may wait for a larger batch'),
    instances: z.number().describe('instances of the model'),
    devices: z.number().optional().describe('GPUs that the instances are spread over'),
    dynamicBatching: z.boolean().describe('whether requests are joined into batches'),
    prefetch: z.boolean().optional().describe('whether the next batch is prepared during an execution'),
  }).describe('instances, and how they form batches'),
  scheduling: z
    .enum(['batcher', 'sequence', 'ensemble', 'decoupled', 'network', 'continuous', 'unknown'])
    .describe('how requests reach the instances'),
  groups: z
    .array(
      openObject({
        device: z.enum(['auto', 'cpu', 'gpu', 'model']).describe('kind of the device'),
        count: z.number().describe('instances, over all devices of the group'),
        place: text.describe('all settings of where they run, as text'),
        gpus: z.array(z.number()).optional().describe('GPUs that the group names'),
      }),
    )
    .describe('instance groups'),
  batching: text.describe('all settings of queueing and batching but the largest batch, as text'),
  rest: text.describe('digest of all other settings'),
  settings: z.record(text, text).describe('settings that may change the execution time, by path'),
  preparation: openObject({
    key: text.describe('equal for candidates that share its outcome'),
    name: text.describe('what is made'),
    seconds: figure.describe('expected duration; 0 if it exists already'),
  })
    .optional()
    .describe('work before the first load, such as building an engine'),
  continuous: openObject({
    maxSequences: z.number().describe('most sequences that run at once'),
    maxStepTokens: z.number().nullable().describe('most tokens of one step; null for no limit'),
    chunksPrefill: z.boolean().describe('whether a prompt may be spread over several steps'),
    mixesPrefill: z.boolean().optional().describe('whether whole prompts run beside decoding sequences'),
    kvCacheTokens: z.number().nullable().describe('tokens that the KV cache holds; null if it is never the limit'),
    cachesPrefixes: z.boolean().describe('whether prompts with the same beginning share the work on it'),
    isStatic: z.boolean().optional().describe('whether waiting sequences begin together, once none runs'),
  })
    .optional()
    .describe("how a language model's engine forms its steps"),
  parallelGpus: z.number().positive().optional().describe('GPUs that an engine uses by its settings'),
});

const shape = ownShape
  .extend({
    members: z
      .record(text, ownShape.meta({ id: 'memberShape', description: 'the shape of one of several models' }))
      .optional()
      .describe('the shapes of models that are tuned together, by name'),
  })
  .meta({ id: 'shape', description: 'what is known of a candidate of any server' });

/** Code that reads a candidate's value assumes the types of its fields. */
const value = jsonObject.refine(isSound, 'it holds what is not a model config');

export const assignment = createJsonObject<Assignment>().describe('parameter of the search space → value');

export const candidate = openObject({
  fingerprint: text.describe('digest of everything that it sets; equal candidates have equal ones'),
  assignment,
  value: value.describe('what the adapter applies: for Triton the model configs by name'),
  shape,
}).meta({ id: 'candidate', description: 'a config to try' });

const step: z.ZodType<Step> = z
  .lazy(() =>
    z.union([
      openObject({ stage: text.describe('the model that it calls') }),
      openObject({ steps: z.array(step).min(1).describe('steps of an ensemble inside') }),
    ]),
  )
  .meta({ id: 'step', description: 'a step of an ensemble' });

export const topology = openObject({
  fronts: z
    .array(
      openObject({
        model: text.describe('its name'),
        steps: z.array(step).min(1).describe('models that its requests pass through'),
        share: z.number().positive().optional().describe('its share of the level, relative to the other shares'),
        requestsPerSecond: z.number().positive().optional().describe('its rate, whatever the level is'),
      }),
    )
    .min(1)
    .describe('models that clients call'),
  stages: z.array(text).min(1).describe('models with instances of their own, in the order of the requests'),
  calls: z.record(text, z.array(text)).optional().describe('BLS models by name, with the models that they call'),
}).meta({ id: 'topology', description: 'the models that are tuned together' });
