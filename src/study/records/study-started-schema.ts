import { z } from 'zod';
import { count, jsonObject, openObject, text } from '#base/schema.ts';
import { mode } from '#profiler/figure-schemas.ts';
import { modelAnalyzerSource, studySpec } from '#spec/study-spec.ts';
import { candidate, topology } from './candidate-schema.ts';
import { goal, server } from './goal-schema.ts';
import { stamp } from './stamp-schema.ts';

const workload = openObject({
  name: text.describe('its name'),
  file: text.describe('its file'),
  weight: z.number().positive().describe('its weight, relative to the others'),
  perLevel: z.number().positive().describe('its mean requests per second over the level of the study'),
  passSeconds: z.number().describe('duration of one pass'),
  digest: text.describe('digest of its arrivals'),
});

/** The version of a journal's format. */
export const SCHEMA_VERSION = 2;

/** The first record of a journal. */
export const studyStarted = openObject({
  type: z.literal('study-started'),
  ...stamp,
  schemaVersion: z.literal(SCHEMA_VERSION).describe('version of the format'),
  adapter: text.describe('adapter that the candidates are for'),
  model: text.describe('the model that is tuned'),
  server,
  original: candidate.describe("the server's state before the first change, which `restore` restores"),
  originalDigest: text.optional().describe("digest of the original's value"),
  wasLoaded: z.boolean().describe('whether the model was loaded before the run'),
  unloadedOthers: z.array(text).optional().describe('other models that were not loaded before the run'),
  topology: topology.optional(),
  goal,
  levels: openObject({
    mode,
    low: z.number().describe('lowest level'),
    high: z.number().describe('highest level'),
    batch: openObject({ low: count.describe('fewest'), high: count.describe('most') })
      .optional()
      .describe('samples in one request, where the study varies them'),
  }).describe('the range of load levels'),
  workloads: openObject({
    rule: text.describe('how figures under several become one: worst, mean or quantile:SHARE'),
    holdout: z.number().optional().describe('share of each trace that only the final sees'),
    of: z.array(workload).min(1).describe('the workloads, in their order'),
  })
    .optional()
    .describe('the workloads of the study'),
  sampler: text.describe('the sampler'),
  seed: z.number().describe('seed of the random numbers'),
  space: jsonObject.describe('the search space as it was used'),
  clients: z
    .array(
      openObject({
        model: text.describe('the model'),
        largest: count.describe('the largest batch of one request of its clients, in samples'),
        basis: z
          .enum(['config', 'option', 'counters'])
          .describe('how it is known: the original config, --client-batch, or the counters of the server'),
        original: count.describe('max_batch_size of the original config'),
        leftOut: z.array(count).describe('smaller values of max_batch_size that the search left out'),
        requests: count.optional().describe('requests of clients that the counters are about'),
      }),
    )
    .optional()
    .describe('what clients send, where the search keeps max_batch_size for them'),
  assumptions: z
    .array(text)
    .optional()
    .describe('what was made up for the requests and not stated by anybody: open shapes, ranges by name'),
  spec: studySpec.describe('the request for the study, without header values'),
  commandLine: z.array(text).describe('the command line'),
  modelAnalyzer: modelAnalyzerSource
    .loose()
    .optional()
    .describe('the file of Model Analyzer that the study was read from'),
  trituneVersion: text.describe('version of tritune'),
}).describe('The first record: everything that the study is about');
