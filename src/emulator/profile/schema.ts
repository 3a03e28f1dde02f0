import { z } from 'zod';
import type { Json } from '#base/json.ts';
import { languageSchema } from '../language/language-schema.ts';

const positive = z.number().positive();
const atLeastZero = z.number().min(0);
const share = z.number().min(0).max(1);

/** Pairs of batch size and milliseconds, by rising batch size. */
const executionTable = z
  .array(z.tuple([z.int().min(1), positive]))
  .min(1)
  .refine((rows) => rows.every(([batch], index) => index === 0 || batch > (rows[index - 1]?.[0] ?? 0)), {
    error: 'batch sizes must rise',
  });

const json: z.ZodType<Json> = z.json();

const split = z
  .strictObject({ input: share.describe('Share of compute-input'), output: share.describe('Share of compute-output') })
  .refine(({ input, output }) => input + output <= 1, { error: 'input and output together must not exceed 1' });

const interference = z
  .strictObject({
    per_instance: atLeastZero.describe(
      'Share by which each further busy instance on the same GPU lengthens an execution of one sample',
    ),
    batch_exponent: atLeastZero.default(0).describe('Growth of that share with the batch size, as its power'),
  })
  .meta({ id: 'interference', description: 'How instances of the model on one GPU slow each other' });

const law = z
  .strictObject({
    execution_ms: executionTable.describe(
      'Time of an execution that runs alone, by batch size; linear between the rows and beyond the outermost two',
    ),
    interference: interference
      .default({ per_instance: 0, batch_exponent: 0 })
      .describe('How instances of the model on one GPU slow each other'),
    at_once: z
      .int()
      .min(1)
      .optional()
      .describe(
        "The maximum number of simultaneous executions on a GPU; further instances wait, as TensorRT's on one GPU do",
      ),
    device_share: share
      .default(0)
      .describe(
        'The share of its GPU or CPU that an execution takes, 0 to 1: if executions of several models ask for more than the whole, all are slowed by the same factor. 0: it neither slows other models nor is slowed by them',
      ),
    padded_sizes: z
      .array(z.int().min(1))
      .default([])
      .describe('Sizes that the model really executes; a batch costs as much as the next larger one'),
    cuda_graph_saves_ms: atLeastZero
      .optional()
      .describe(
        "What an execution saves as a CUDA graph, of a model with TensorRT's rules: which batches run as graphs, and to which size they are padded",
      ),
    cv: z.number().min(0).max(1).default(0).describe("Coefficient of variation of an execution's time"),
    split: split
      .default({ input: 0, output: 0 })
      .describe('Shares of compute-input and compute-output; the rest is compute-infer'),
    turnaround_ms: atLeastZero
      .default(0)
      .describe('Time from the sending of the answers until the instance takes the next batch; in no statistic'),
    answer_lead_ms: atLeastZero
      .default(0)
      .describe(
        'Time by which answers are sent before their execution ends in the statistics: backends clean up after sending',
      ),
  })
  .meta({ id: 'law', description: 'How long executions of a model take' });

const when = z
  .record(z.string().min(1), json)
  .describe(
    'Dotted config paths and their required values, all of which must hold; in a list any element may match, and null requires that there is none',
  );

const arm = z
  .strictObject({
    name: z.string().min(1).describe('Its name, for people'),
    when,
    uploaded: z.string().min(1).optional().describe("Only if one of the load's files holds this text"),
    scale: positive.default(1).describe('Multiplies execution times'),
    execution_ms: executionTable.optional().describe("Replaces the model's own table"),
    interference: interference.optional().describe("Replaces the model's own"),
    refuses: z.string().min(1).optional().describe('The backend refuses such configs with this message'),
    load_s: atLeastZero.optional().describe('Replaces `load.full_s`'),
    first_execution_ms: atLeastZero
      .optional()
      .describe(
        "Replaces the model's own, unless the config keeps engines (`trt_engine_cache_enable`) and has this one",
      ),
    memory_scale: positive.default(1).describe("Multiplies the model's memory"),
  })
  .meta({ id: 'arm', description: 'What a config, or an uploaded file, changes in the model' });

const times = z.int().min(1).optional();

const loadFault = z
  .strictObject({
    what: z
      .enum(['refuse', 'out-of-memory', 'delay', 'hang', 'crash', 'never-ready', 'other-config'])
      .describe(
        'What happens: refused with a message, refused for lack of memory, delayed, never ends, the process dies half-way, ' +
          'succeeds but serves nothing until the next load, or succeeds but serves a config that differs',
      ),
    when: when.default({}).describe('As for an arm: only loads of such configs count and fail'),
    after_loads: z.int().min(0).default(0).describe('Loads that succeed first'),
    times: times.describe('The maximum number of failing loads; all if absent'),
    message: z.string().min(1).optional().describe("The backend's message, for `refuse`"),
    delay_s: atLeastZero.default(0).describe('For `delay`'),
    change: z
      .record(z.string().min(1), json)
      .default({})
      .describe('For `other-config`: dotted config paths and the values that are served instead of those sent'),
  })
  .meta({ id: 'loadFault', description: 'A fault of loads' });

const inferFault = z
  .strictObject({
    what: z
      .enum([
        ...['fail', 'delay', 'hang', 'crash', 'unload', 'reload', 'remove', 'cut'],
        ...['close', 'half-close', 'reset', 'garbage', 'reset-stream', 'go-away'],
      ] as const)
      .describe(
        'What happens: fail answers with a status and message, delay starts later, hang is never answered, crash ends the process; ' +
          'close, half-close, reset and garbage concern the connection, reset-stream and go-away are frames of HTTP/2 (HTTP: close); ' +
          'unload, reload and remove are done to the model by another client; cut ends a stream of text',
      ),
    after_requests: z.int().min(0).default(0).describe('Requests that succeed first'),
    times: times.describe('The maximum number of failing requests; all if absent'),
    share: share.default(1).describe('The share of the later requests that fails, drawn at random'),
    status: z
      .enum(['INTERNAL', 'UNAVAILABLE', 'INVALID_ARGUMENT', 'NOT_FOUND', 'RESOURCE_EXHAUSTED'])
      .default('INTERNAL')
      .describe('For `fail`'),
    message: z.string().min(1).default('failed, as the profile says').describe('For `fail`'),
    delay_ms: atLeastZero.default(0).describe('For `delay`'),
    after_tokens: z
      .int()
      .min(1)
      .default(1)
      .describe("For `cut`, of a language model's stream: tokens that are still sent"),
  })
  .meta({ id: 'inferFault', description: 'A fault of requests' });

const statisticsFault = z
  .strictObject({
    what: z.enum(['forget', 'fail']).describe('The counters restart at 0, or the call fails with INTERNAL'),
    after_reads: z.int().min(0).default(0).describe('Readings that succeed first'),
    times: times.describe('The maximum number of failing readings; all if absent'),
  })
  .meta({ id: 'statisticsFault', description: 'A fault of readings of statistics' });

const blsCall = z
  .strictObject({
    model: z.string().min(1).describe('Another model or ensemble of the profile'),
    fan_out: z
      .int()
      .min(1)
      .default(1)
      .describe('Samples per sample of the request: crops of an image, passages of a question'),
    send: z
      .enum(['batch', 'each', 'each-in-turn'])
      .default('batch')
      .describe(
        'All samples in one request, up to its largest batch; or one request per sample, in parallel or one after another',
      ),
  })
  .meta({ id: 'blsCall', description: 'One call' });

const bls = z
  .strictObject({
    requests: z
      .enum(['in-turn', 'together'])
      .default('in-turn')
      .describe(
        'How an execution processes the requests of its batch: one after another in a plain loop, or all at once (`async_exec`)',
      ),
    stages: z
      .array(z.array(blsCall).min(1))
      .min(1)
      .describe('Stages run one after another; the calls of a stage are sent together'),
  })
  .meta({ id: 'bls', description: 'Calls of a model by business logic scripting' });

const tensor = z
  .looseObject({
    name: z.string().min(1).describe('Name'),
    data_type: z.string().describe('Data type, such as TYPE_FP32'),
    dims: z.array(z.int()).describe('Dimensions without the batch'),
  })
  .meta({ id: 'tensor', description: 'A tensor of a model config' });

/** A language model's replacement for a law: its engine executes no batches. */
const NO_LAW = law.parse({ execution_ms: [[1, 1]] });

const modelFields = z.strictObject({
  config: z
    .looseObject({
      name: z.string().min(1).describe('Name of the model'),
      backend: z
        .string()
        .min(1)
        .optional()
        .describe('Its backend; by default that of its platform, or else a backend named emulator'),
      input: z.array(tensor).min(1).describe('Inputs'),
      output: z.array(tensor).min(1).describe('Outputs'),
    })
    .describe('A whole model config, with the field names of config.pbtxt; read like one that a client posts'),
  law: law.optional().describe('How long its executions take; a model has either law or language'),
  language: languageSchema.optional().describe('A language model, whose engine batches continuously; replaces a law'),
  bls: bls
    .optional()
    .describe(
      'The models that its code calls (business logic scripting) after the work of its law; its instance waits for them',
    ),
  arms: z
    .array(arm)
    .default([])
    .describe('What a config, or an uploaded file, changes: times, memory, load time, or a refusal'),
  memory: z
    .strictObject({
      model_mib: atLeastZero.describe('Once for the model'),
      instance_mib: atLeastZero.describe('For each instance'),
      sample_mib: atLeastZero.describe('For each sample of max_batch_size, for each instance'),
    })
    .default({ model_mib: 0, instance_mib: 0, sample_mib: 0 })
    .describe('Device memory that it takes, in MiB'),
  max_instances: z.int().min(1).optional().describe('Most instances that start; the backend refuses more'),
  load: z
    .strictObject({
      full_s: atLeastZero.describe('A whole load'),
      add_s: atLeastZero.describe('Adding an instance in place'),
      remove_s: atLeastZero.describe('Removing one'),
    })
    .default({ full_s: 1, add_s: 0.3, remove_s: 0.1 })
    .describe('Seconds that loads take'),
  first_execution_ms: atLeastZero
    .default(0)
    .describe('Added to the first execution of each new instance, or to the load if the config has model_warmup'),
  first_execution_of_size_ms: atLeastZero
    .default(0)
    .describe(
      'Added to the first execution of each batch size on each instance; sizes in model_warmup pay it in the load',
    ),
  responses: z
    .int()
    .min(0)
    .default(1)
    .describe('Responses of a decoupled model per request, spread evenly over its execution'),
  drift: z
    .strictObject({
      per_minute: z.number().describe('Relative change per minute'),
      to: positive.describe('Multiple of the original at which it ends'),
    })
    .refine(({ per_minute: each, to }) => (each >= 0 ? to >= 1 : to <= 1), {
      error: 'to must be at least 1 when times grow, and at most 1 when they fall',
    })
    .optional()
    .describe('Drift of all execution times'),
  faults: z
    .strictObject({
      load: z.array(loadFault).default([]).describe('Of loads'),
      infer: z.array(inferFault).default([]).describe('Of requests'),
      statistics: z.array(statisticsFault).default([]).describe('Of readings of statistics'),
    })
    .default({ load: [], infer: [], statistics: [] })
    .describe('Deliberate faults'),
  network_ms: atLeastZero.default(0).describe('Network time between server and clients, both directions together'),
});

const model = modelFields
  .refine((fields) => (fields.law === undefined) !== (fields.language === undefined), {
    error: 'a model has either a law or language',
  })
  .transform((fields) => ({ ...fields, law: fields.law ?? NO_LAW }));

const ensemble = z.strictObject({
  config: z
    .looseObject({
      name: z.string().min(1).describe('Name of the ensemble'),
      input: z.array(tensor).min(1).describe('Inputs'),
      output: z.array(tensor).min(1).describe('Outputs'),
      ensemble_scheduling: z
        .looseObject({
          step: z
            .array(z.looseObject({ model_name: z.string().min(1).describe('A model of the profile') }))
            .min(1)
            .describe('Steps'),
        })
        .describe('As in config.pbtxt'),
    })
    .describe('A whole config of an ensemble, whose steps name models of the profile'),
  load: z
    .strictObject({ full_s: atLeastZero.describe('A load') })
    .default({ full_s: 0 })
    .describe('Seconds that loads take'),
});

const deviceName = z.string().min(1).default('emulated').describe('Name of the device');
const deviceMemory = positive.default(16384).describe('Its memory in MiB');

const device = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('cpu'), name: deviceName, memory_mib: deviceMemory }),
  z.strictObject({
    kind: z.literal('gpu'),
    name: deviceName,
    count: z.int().min(1).max(64).default(1).describe('Number of identical GPUs; memory and power are per GPU'),
    memory_mib: deviceMemory,
    power_w: z
      .strictObject({ idle: atLeastZero.describe('When idle'), busy: positive.describe('When always busy') })
      .default({ idle: 25, busy: 250 })
      .describe('Power in W; linear between the two'),
  }),
]);

/** The file format of an emulator profile. */
export const emulatorSchema = z.strictObject({
  $schema: z.string().optional().describe('Address of the JSON Schema, for editors'),
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]*$/, { error: 'must be lower-case letters, digits and dashes' })
    .default('my-profile')
    .describe('Name of the profile'),
  description: z.string().default('').describe('What it emulates, for people'),
  source: z.string().default('').describe('Where the figures come from'),
  suggested_latency_budget_ms: positive.optional().describe('A p99 budget that makes the profile an interesting task'),
  device: device.prefault({ kind: 'cpu' }).describe('The CPU or the GPUs of the server'),
  models: z.array(model).min(1).describe('Models'),
  ensembles: z.array(ensemble).default([]).describe('Ensembles of these models'),
  faults: z
    .strictObject({
      metrics: z.enum(['missing', 'malformed', 'hang']).optional().describe('What the page of metrics does'),
    })
    .default({})
    .describe('Deliberate faults of the server itself'),
});

/** A checked profile, defaults filled in. Field names are those of the file. */
export type EmulatorProfile = z.infer<typeof emulatorSchema>;
export type ModelProfile = EmulatorProfile['models'][number];
/** A variant of a model that its config chooses, such as a precision. */
export type Arm = ModelProfile['arms'][number];
export type LoadFault = ModelProfile['faults']['load'][number];
export type InferFault = ModelProfile['faults']['infer'][number];
export type StatisticsFault = ModelProfile['faults']['statistics'][number];
