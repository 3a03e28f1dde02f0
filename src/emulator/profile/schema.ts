import { z } from 'zod';
import type { Json } from '../../base/json.ts';
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
  .strictObject({ input: share, output: share })
  .refine(({ input, output }) => input + output <= 1, { error: 'input and output together must not exceed 1' });

/**
 * The share by which each further busy instance on the same GPU lengthens an execution of one
 * sample, and its growth with the batch size.
 */
const interference = z.strictObject({ per_instance: atLeastZero, batch_exponent: atLeastZero.default(0) });

const law = z.strictObject({
  /**
   * Time of an execution that runs alone, by batch size; linear between the rows and beyond the
   * outermost two.
   */
  execution_ms: executionTable,
  interference: interference.default({ per_instance: 0, batch_exponent: 0 }),
  /**
   * The maximum number of simultaneous executions on a GPU; further instances wait, as TensorRT's
   * on one GPU do.
   */
  at_once: z.int().min(1).optional(),
  /**
   * The share of its GPU or CPU that an execution takes, 0 to 1: if executions of several models
   * ask for more than the whole, all are slowed by the same factor. 0: it neither slows other
   * models nor is slowed by them.
   */
  device_share: share.default(0),
  /** Sizes that the model really executes; a batch costs as much as the next larger one. */
  padded_sizes: z.array(z.int().min(1)).default([]),
  /** Coefficient of variation of an execution's time. */
  cv: z.number().min(0).max(1).default(0),
  /** Shares of compute-input and compute-output; the rest is compute-infer. */
  split: split.default({ input: 0, output: 0 }),
  /**
   * Time from the sending of the answers until the instance takes the next batch; in no statistic.
   */
  turnaround_ms: atLeastZero.default(0),
  /**
   * Time by which answers are sent before their execution ends in the statistics: backends clean up
   * after sending.
   */
  answer_lead_ms: atLeastZero.default(0),
});

/**
 * Dotted config paths and their required values; in a list any element may match; null requires
 * that there is none. All must hold.
 */
const when = z.record(z.string().min(1), json);

const arm = z.strictObject({
  name: z.string().min(1),
  when,
  /** Only if one of the load's files holds this text. */
  uploaded: z.string().min(1).optional(),
  /** Multiplies execution times. */
  scale: positive.default(1),
  /** Replaces the model's own table. */
  execution_ms: executionTable.optional(),
  /** Replaces the model's own. */
  interference: interference.optional(),
  /** The backend refuses such configs with this message. */
  refuses: z.string().min(1).optional(),
  /** Replaces `load.full_s`. */
  load_s: atLeastZero.optional(),
  /** Multiplies the model's memory. */
  memory_scale: positive.default(1),
});

const times = z.int().min(1).optional();

const loadFault = z.strictObject({
  what: z.enum(['refuse', 'out-of-memory', 'delay', 'hang', 'crash', 'never-ready', 'other-config']),
  /** As for an arm: only loads of such configs count and fail. */
  when: when.default({}),
  /** Loads that succeed first. */
  after_loads: z.int().min(0).default(0),
  /** The maximum number of failing loads; all if absent. */
  times,
  /** The backend's message, for `refuse`. */
  message: z.string().min(1).optional(),
  /** For `delay`. */
  delay_s: atLeastZero.default(0),
  /**
   * For `other-config`: dotted config paths and the values that are served instead of those sent.
   */
  change: z.record(z.string().min(1), json).default({}),
});

const inferFault = z.strictObject({
  what: z.enum([
    ...['fail', 'delay', 'hang', 'crash', 'unload', 'reload', 'remove', 'cut'],
    ...['close', 'half-close', 'reset', 'garbage', 'reset-stream', 'go-away'],
  ] as const),
  /** Requests that succeed first. */
  after_requests: z.int().min(0).default(0),
  /** The maximum number of failing requests; all if absent. */
  times,
  /** The share of the later requests that fails, drawn at random. */
  share: share.default(1),
  /** For `fail`. */
  status: z
    .enum(['INTERNAL', 'UNAVAILABLE', 'INVALID_ARGUMENT', 'NOT_FOUND', 'RESOURCE_EXHAUSTED'])
    .default('INTERNAL'),
  message: z.string().min(1).default('failed, as the profile says'),
  /** For `delay`. */
  delay_ms: atLeastZero.default(0),
  /** For `cut`, of a language model's stream: tokens that are still sent. */
  after_tokens: z.int().min(1).default(1),
});

const statisticsFault = z.strictObject({
  what: z.enum(['forget', 'fail']),
  /** Readings that succeed first. */
  after_reads: z.int().min(0).default(0),
  /** The maximum number of failing readings; all if absent. */
  times,
});

const blsCall = z.strictObject({
  /** Another model or ensemble of the profile. */
  model: z.string().min(1),
  /** Samples per sample of the request: crops of an image, passages of a question. */
  fan_out: z.int().min(1).default(1),
  /**
   * All samples in one request, up to its largest batch; or one request per sample, in parallel or
   * one after another.
   */
  send: z.enum(['batch', 'each', 'each-in-turn']).default('batch'),
});

const bls = z.strictObject({
  /**
   * How an execution processes the requests of its batch: one after another in a plain loop, or all
   * at once (`async_exec`).
   */
  requests: z.enum(['in-turn', 'together']).default('in-turn'),
  /** Stages run one after another; the calls of a stage are sent together. */
  stages: z.array(z.array(blsCall).min(1)).min(1),
});

const tensor = z.looseObject({ name: z.string().min(1), data_type: z.string(), dims: z.array(z.int()) });

/** A language model's replacement for a law: its engine executes no batches. */
const NO_LAW = law.parse({ execution_ms: [[1, 1]] });

const modelFields = z.strictObject({
  /**
   * A whole model config, with the field names of config.pbtxt; read like one that a client posts.
   */
  config: z.looseObject({
    name: z.string().min(1),
    backend: z.string().min(1),
    input: z.array(tensor).min(1),
    output: z.array(tensor).min(1),
  }),
  law: law.optional(),
  /** A language model, whose engine batches continuously; replaces a law. */
  language: languageSchema.optional(),
  /**
   * The models that its code calls (business logic scripting) after the work of its law; its
   * instance waits for them.
   */
  bls: bls.optional(),
  arms: z.array(arm).default([]),
  memory: z
    .strictObject({ model_mib: atLeastZero, instance_mib: atLeastZero, sample_mib: atLeastZero })
    .default({ model_mib: 0, instance_mib: 0, sample_mib: 0 }),
  /** The backend refuses more. */
  max_instances: z.int().min(1).optional(),
  load: z.strictObject({ full_s: atLeastZero, add_s: atLeastZero, remove_s: atLeastZero }),
  /** Added to the first execution of each new instance. */
  first_execution_ms: atLeastZero.default(0),
  /** Added to the first execution of each batch size on each instance. */
  first_execution_of_size_ms: atLeastZero.default(0),
  /** Responses of a decoupled model per request, spread evenly over its execution. */
  responses: z.int().min(0).default(1),
  /** Drift of execution times: by this share per minute, up to this multiple of the original. */
  drift: z
    .strictObject({ per_minute: z.number(), to: positive })
    .refine(({ per_minute: each, to }) => (each >= 0 ? to >= 1 : to <= 1), {
      error: 'to must be at least 1 when times grow, and at most 1 when they fall',
    })
    .optional(),
  /** Deliberate faults. */
  faults: z
    .strictObject({
      load: z.array(loadFault).default([]),
      infer: z.array(inferFault).default([]),
      statistics: z.array(statisticsFault).default([]),
    })
    .default({ load: [], infer: [], statistics: [] }),
  /** Network time between server and clients, both directions together. */
  network_ms: atLeastZero.default(0),
});

const model = modelFields
  .refine((fields) => (fields.law === undefined) !== (fields.language === undefined), {
    error: 'a model has either a law or language',
  })
  .transform((fields) => ({ ...fields, law: fields.law ?? NO_LAW }));

const ensemble = z.strictObject({
  /** A whole config of an ensemble, whose steps name models of the profile. */
  config: z.looseObject({
    name: z.string().min(1),
    input: z.array(tensor).min(1),
    output: z.array(tensor).min(1),
    ensemble_scheduling: z.looseObject({ step: z.array(z.looseObject({ model_name: z.string().min(1) })).min(1) }),
  }),
  load: z.strictObject({ full_s: atLeastZero }).default({ full_s: 0 }),
});

const device = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('cpu'), name: z.string().min(1), memory_mib: positive }),
  z.strictObject({
    kind: z.literal('gpu'),
    name: z.string().min(1),
    /** Number of identical GPUs; memory and power are per GPU. */
    count: z.int().min(1).max(64).default(1),
    memory_mib: positive,
    /** Power when idle and when always busy; linear between them. */
    power_w: z.strictObject({ idle: atLeastZero, busy: positive }),
  }),
]);

/** The file format of an emulator profile. */
export const profileSchema = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9-]*$/, { error: 'must be lower-case letters, digits and dashes' }),
  description: z.string().min(1),
  /** Where the figures come from. */
  source: z.string().min(1),
  /** A p99 budget that makes the profile an interesting task. */
  suggested_latency_budget_ms: positive.optional(),
  device,
  models: z.array(model).min(1),
  ensembles: z.array(ensemble).default([]),
  /** Deliberate faults of the server itself. */
  faults: z.strictObject({ metrics: z.enum(['missing', 'malformed', 'hang']).optional() }).default({}),
});

/** A checked profile, defaults filled in. Field names are those of the file. */
export type EmulatorProfile = z.infer<typeof profileSchema>;
export type ModelProfile = EmulatorProfile['models'][number];
/** A variant of a model that its config chooses, such as a precision. */
export type Arm = ModelProfile['arms'][number];
export type LoadFault = ModelProfile['faults']['load'][number];
export type InferFault = ModelProfile['faults']['infer'][number];
export type StatisticsFault = ModelProfile['faults']['statistics'][number];
