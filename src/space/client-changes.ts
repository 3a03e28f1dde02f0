import { canonicalJson, isJsonObject, type Json, type JsonObject } from '#base/json.ts';
import { lookUp } from '#base/look-up.ts';
import { hasTensorrt } from '#triton/config/accelerators.ts';
import { namesOfBackend } from '#triton/config/backend-names.ts';
import { readEngineCache } from '#triton/config/engine-cache.ts';
import type { ModelConfig, TensorConfig } from '#triton/config/model-config.ts';
import { normaliseConfig } from '#triton/config/normal-form.ts';
import { toModelConfigs, toOtherConfigs } from './model-configs.ts';
import type { Candidate } from './types.ts';

/** Something that clients of a model notice when another config of it is served. */
export interface ClientChange {
  readonly model: string;
  /** A field of the config, or `name`, `input NAME`, `output NAME`. */
  readonly what: string;
  /** null for a value that is not set. */
  readonly before: Json;
  readonly after: Json;
  /**
   * True if a request that was answered may now fail, wait for no reply, or get another kind of
   * reply.
   */
  readonly breaks: boolean;
  /** The change as a client sees it. */
  readonly text: string;
}

type Change = Omit<ClientChange, 'model'>;

/**
 * Returns what clients notice when the candidate is served instead of the original, model by model;
 * empty for servers other than Triton. Ensembles over the models of a study are models too: their
 * largest batch may have had to follow.
 */
export function clientChanges(
  original: Pick<Candidate, 'value'>,
  candidate: Pick<Candidate, 'value'>,
): readonly ClientChange[] {
  const before = { ...toOtherConfigs(original), ...toModelConfigs(original) };
  const after = toModelConfigs(candidate);
  const [served, ...more] = Object.keys(after);
  const [model, ...others] = Object.keys(toModelConfigs(original));
  // A variant may be another model of the server, which then has another name.
  if (served !== undefined && model !== undefined && served !== model && more.length + others.length === 0)
    return [
      { model, ...renamed(model, served) },
      ...listChanges(lookUp(before, model) ?? {}, lookUp(after, served) ?? {}).map((change) => ({ model, ...change })),
    ];
  return Object.entries(after).flatMap(([name, config]) =>
    listChanges(lookUp(before, name) ?? config, config).map((change) => ({ model: name, ...change })),
  );
}

const renamed = (before: string, after: string): Change => ({
  what: 'name',
  before,
  after,
  breaks: true,
  text: `clients must ask for model '${after}' instead of '${before}'`,
});

function listChanges(before: ModelConfig, after: ModelConfig): readonly Change[] {
  const [a, b] = [normaliseConfig(before), normaliseConfig(after)];
  return [
    ...batchChange(a, b),
    ...tensorChanges('input', a.input, b.input),
    ...tensorChanges('output', a.output, b.output),
    ...firstRequestChange(a, b),
    ...fields.flatMap(({ path, change }) => {
      const [old, now] = [fieldAt(a, path), fieldAt(b, path)];
      return canonicalJson(old) === canonicalJson(now)
        ? []
        : [{ what: path, before: old, after: now, ...change(old, now) }];
    }),
  ];
}

function batchChange(
  { max_batch_size: before = 0 }: ModelConfig,
  { max_batch_size: after = 0 }: ModelConfig,
): Change[] {
  if (after >= before) return [];
  const text =
    after === 0
      ? `requests have no batch dimension any more (${before} samples before)`
      : `clients may send ${after} ${after === 1 ? 'sample' : 'samples'} in a request at most (${before} before)`;
  return [{ what: 'max_batch_size', before, after, breaks: true, text }];
}

type Tensors = readonly TensorConfig[] | undefined;

/** A config without tensors has those of the model's files, which are not known. */
function tensorChanges(kind: 'input' | 'output', before: Tensors = [], after: Tensors = []): Change[] {
  if (before.length === 0 || after.length === 0) return [];
  const old = new Map(before.map((tensor) => [tensor.name, tensor]));
  const now = new Map(after.map((tensor) => [tensor.name, tensor]));
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((name): Change[] => {
    const [was, is] = [shapeText(old.get(name)), shapeText(now.get(name))];
    if (was === is) return [];
    const isNew = was === null;
    const breaks = isNew ? kind === 'input' && now.get(name)?.optional !== true : true;
    const change = isNew ? `is new: ${is}` : is === null ? 'is gone' : `is ${is} (${was} before)`;
    return [{ what: `${kind} ${name}`, before: was, after: is, breaks, text: `${kind} '${name}' ${change}` }];
  });
}

const shapeText = (tensor: TensorConfig | undefined): string | null =>
  tensor ? `${String(tensor.data_type).replace('TYPE_', '')} [${tensor.dims.join(', ')}]` : null;

/**
 * TensorRT in another backend builds an engine at the first request of a shape
 * (onnxruntime_backend, README), in each process of the server again unless engines are kept.
 */
function firstRequestChange(before: ModelConfig, after: ModelConfig): Change[] {
  if (!buildsLate(after) || buildsLate(before)) return [];
  const kept = namesOfBackend(after)?.backend === 'onnxruntime' ? ', and trt_engine_cache_enable keeps it' : '';
  const text = `the first requests after a load wait for minutes while TensorRT builds an engine (tritune config --warm-up each has the load build it${kept})`;
  return [{ what: 'optimization.execution_accelerators', before: null, after: 'tensorrt', breaks: false, text }];
}

const buildsLate = (config: ModelConfig): boolean =>
  hasTensorrt(config) && readEngineCache(config) === null && !hasWarmUp(config);

const hasWarmUp = ({ model_warmup: samples }: ModelConfig): boolean => Array.isArray(samples) && samples.length > 0;

interface Field {
  readonly path: string;
  readonly change: (before: Json, after: Json) => Pick<ClientChange, 'breaks' | 'text'>;
}

const notices = (text: string) => ({ breaks: false, text });
const breaks = (text: string) => ({ breaks: true, text });
const orNone = (value: Json): string => (value === null ? 'none' : String(value));

/** A limit of which less is stricter; 0 and null are no limit. */
const limit =
  (name: string): Field['change'] =>
  (before, after) => {
    const [old, now] = [
      Number(before ?? 0) || Number.POSITIVE_INFINITY,
      Number(after ?? 0) || Number.POSITIVE_INFINITY,
    ];
    return { breaks: now < old, text: `${name} is ${orNone(after)} (${orNone(before)} before)` };
  };

const SEQUENCE = 'sequence_batching';
const BATCHING = 'dynamic_batching';

/** The fields that clients notice besides the largest batch and the tensors. */
const fields: readonly Field[] = [
  {
    path: 'model_transaction_policy.decoupled',
    change: (_, after) =>
      breaks(after ? 'a request gets any number of replies, over streams only' : 'a request gets exactly one reply'),
  },
  {
    path: 'response_cache.enable',
    change: (_, after) => notices(after ? 'equal requests may get a cached reply' : 'replies are not cached any more'),
  },
  {
    path: 'version_policy',
    change: (before, after) =>
      breaks(`other versions are served: ${orNone(text(after))} (${orNone(text(before))} before)`),
  },
  { path: SEQUENCE, change: (_, after) => presence(after, 'sequences') },
  { path: `${SEQUENCE}.max_sequence_idle_microseconds`, change: limit('the longest pause within a sequence, in µs,') },
  { path: `${SEQUENCE}.oldest.max_candidate_sequences`, change: limit('the number of sequences at once') },
  {
    path: `${BATCHING}.preserve_ordering`,
    change: (_, after) => ({
      breaks: !after,
      text: after ? 'replies come in the order of requests' : 'replies may come in another order than requests',
    }),
  },
  {
    path: `${BATCHING}.priority_levels`,
    change: (before, after) => breaks(`priority levels are ${orNone(after)} (${orNone(before)} before)`),
  },
  {
    path: `${BATCHING}.default_priority_level`,
    change: (before, after) =>
      notices(`requests without a priority have level ${orNone(after)} (${orNone(before)} before)`),
  },
  {
    path: `${BATCHING}.default_queue_policy.timeout_action`,
    change: (before, after) =>
      breaks(
        `requests that time out in the queue: ${orNone(after ?? 'REJECT')} (${orNone(before ?? 'REJECT')} before)`,
      ),
  },
  {
    path: `${BATCHING}.default_queue_policy.default_timeout_microseconds`,
    change: limit('the timeout in the queue, in µs,'),
  },
  {
    path: `${BATCHING}.default_queue_policy.allow_timeout_override`,
    change: (_, after) => breaks(after ? 'requests may set their own timeout' : "requests' own timeouts are ignored"),
  },
  { path: `${BATCHING}.default_queue_policy.max_queue_size`, change: limit('the longest queue, in requests,') },
  { path: `${BATCHING}.priority_queue_policy`, change: () => breaks('the queue policies of priority levels differ') },
];

/** Of a message that is on one side only; a difference inside it has its own entry. */
const presence = (after: Json, name: string): Pick<ClientChange, 'breaks' | 'text'> =>
  breaks(after ? `requests must belong to ${name}` : `${name} are not kept together any more`);

const text = (value: Json): Json => (value === null ? null : canonicalJson(value));

/** Of a message only whether it is there, if its fields are compared one by one. */
const COMPARED_INSIDE: ReadonlySet<string> = new Set([SEQUENCE]);

function fieldAt(config: ModelConfig, path: string): Json {
  const value = path
    .split('.')
    .reduce<Json | undefined>(
      (at, name) => (isJsonObject(at) ? lookUp(at as JsonObject, name) : undefined),
      config as Json,
    );
  if (COMPARED_INSIDE.has(path)) return value === undefined ? null : true;
  return value ?? null;
}
