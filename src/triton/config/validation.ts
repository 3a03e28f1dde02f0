import type { Json, JsonObject } from '#base/json.ts';
import { backendOfPlatform } from './backend-names.ts';
import { dynamicBatchingFaults, sequenceBatchingFaults } from './batching-rules.ts';
import type { GraphSpec } from './cuda-graphs.ts';
import { ensembleFaults } from './ensemble-rules.ts';
import { type ConfigFault, faultIf } from './fault.ts';
import { instanceFaults } from './instance-rules.ts';
import type { ModelConfig } from './model-config.ts';
import { ConfigValueError, normaliseConfig } from './normal-form.ts';
import { type FieldSchema, type MessageSchema, modelConfigSchema } from './schema.ts';
import { batchTensorFaults, tensorFaults } from './tensor-rules.ts';

/**
 * Returns what Triton would refuse in this config, as far as the config alone can tell. For most of
 * these the server only answers that the load failed. The rules come from the source of its config
 * parser and validation (core 2.51 to 2.73). Excludes everything that depends on the machine or the
 * model's files (existing GPUs, an engine's own limits), and unknown fields, which a newer server
 * may have.
 */
export function validateConfig(config: ModelConfig): readonly ConfigFault[] {
  let normal: ModelConfig;
  try {
    normal = normaliseConfig(config);
  } catch (error) {
    if (error instanceof ConfigValueError) return [{ path: error.path, reason: error.reason }];
    throw error;
  }
  return [
    ...messageFaults(modelConfigSchema(), normal, ''),
    ...faultIf((normal.max_batch_size ?? 0) < 0, 'max_batch_size', 'must be 0 or more'),
    ...backendFaults(normal),
    ...tensorFaults(normal),
    ...batchTensorFaults(normal),
    ...dynamicBatchingFaults(normal),
    ...sequenceBatchingFaults(normal),
    ...ensembleFaults(normal),
    ...instanceFaults(normal),
    ...responseCacheFaults(normal),
    ...cudaGraphFaults(normal),
    ...metricFaults(normal),
    ...warmUpFaults(normal),
  ];
}

/** Checks what protobuf itself refuses: two members of a oneof, enum names that do not exist. */
function messageFaults(schema: MessageSchema, message: JsonObject, path: string): readonly ConfigFault[] {
  const seen = new Map<string, string>();
  return schema.fields.flatMap((field) => {
    const value = Object.hasOwn(message, field.name) ? message[field.name] : undefined;
    if (value === undefined) return [];
    const place = path ? `${path}.${field.name}` : field.name;
    const other = field.oneof ? seen.get(field.oneof) : undefined;
    if (field.oneof) seen.set(field.oneof, field.name);
    const conflict = faultIf(
      other !== undefined,
      place,
      `cannot stand beside '${other}': only one of them may be given`,
    );
    return [...conflict, ...valueFaults(field, value, place)];
  });
}

/** Messages, lists and maps in which nothing is wrong: thousands of candidates share them. */
const sound = new WeakSet<object>();
const isSound = (value: Json): boolean => typeof value === 'object' && value !== null && sound.has(value);

function valueFaults(field: FieldSchema, value: Json, place: string): readonly ConfigFault[] {
  if (isSound(value)) return [];
  const faults = listItems(field, value, place).flatMap(([at, item]) => {
    const faults = itemFaults(field, item, at);
    if (faults.length === 0 && typeof item === 'object' && item !== null) sound.add(item);
    return faults;
  });
  if (faults.length === 0 && typeof value === 'object' && value !== null) sound.add(value);
  return faults;
}

function itemFaults({ value: schema }: FieldSchema, item: Json, path: string): readonly ConfigFault[] {
  if (schema.type === 'message') return messageFaults(schema.message, item as JsonObject, path);
  if (schema.type !== 'enum' || typeof item === 'number' || schema.numbers.has(item as string)) return [];
  return [{ path, reason: `'${item}' is none of ${[...schema.numbers.keys()].join(', ')}` }];
}

function listItems(field: FieldSchema, value: Json, path: string): readonly (readonly [string, Json])[] {
  if (field.shape === 'single') return [[path, value]];
  if (field.shape === 'repeated') return (value as readonly Json[]).map((item, i) => [`${path}[${i}]`, item] as const);
  return Object.entries(value as JsonObject)
    .filter(([, item]) => !isSound(item as Json))
    .map(([key, item]) => [`${path}[${JSON.stringify(key)}]`, item as Json] as const);
}

/**
 * The model's own check, not the parser's. Triton 2.51 may crash after such a load (seen twice;
 * SIGSEGV in its model lifecycle).
 */
function warmUpFaults({ max_batch_size: most = 0, model_warmup: samples }: ModelConfig): readonly ConfigFault[] {
  return ((samples ?? []) as readonly { readonly batch_size?: number }[]).flatMap(({ batch_size: size = 0 }, i) =>
    faultIf(size > Math.max(1, most), `model_warmup[${i}].batch_size`, `must not be above max_batch_size ${most}`),
  );
}

const knownBackends: ReadonlySet<string> = new Set(backendOfPlatform.values());

function backendFaults({ platform, backend }: ModelConfig): readonly ConfigFault[] {
  const owner = platform && backendOfPlatform.get(platform);
  const isPair = !owner || !backend || !knownBackends.has(backend) || owner === backend;
  return faultIf(!isPair, 'platform', `'${platform}' belongs to backend '${owner}', not '${backend}'`);
}

function responseCacheFaults(config: ModelConfig): readonly ConfigFault[] {
  if (config.response_cache?.enable !== true) return [];
  const decoupled = config.model_transaction_policy?.decoupled === true;
  return [
    ...faultIf(config.sequence_batching !== undefined, 'response_cache', 'does not work with sequence_batching'),
    ...faultIf(decoupled, 'response_cache', 'does not work with a decoupled model'),
  ];
}

function cudaGraphFaults(config: ModelConfig): readonly ConfigFault[] {
  const most = config.max_batch_size ?? 0;
  const range = most === 0 ? 'must be 0, as max_batch_size is' : `must be in 1 to max_batch_size ${most}`;
  const fits = (size: number): boolean => (most === 0 ? size === 0 : size >= 1 && size <= most);
  const cuda = config.optimization?.cuda as { graph_spec?: readonly GraphSpec[] } | undefined;
  return (cuda?.graph_spec ?? []).flatMap((spec, i) => {
    const path = `optimization.cuda.graph_spec[${i}]`;
    const bound = spec.graph_lower_bound;
    return [
      ...faultIf(!fits(spec.batch_size ?? 0), `${path}.batch_size`, range),
      ...faultIf(bound !== undefined && !fits(bound.batch_size ?? 0), `${path}.graph_lower_bound.batch_size`, range),
    ];
  });
}

type MetricControl = { metric_identifier?: { family?: string }; histogram_options?: { buckets?: readonly Json[] } };

function metricFaults(config: ModelConfig): readonly ConfigFault[] {
  const metrics = config.model_metrics as { metric_control?: readonly MetricControl[] } | undefined;
  return (metrics?.metric_control ?? []).flatMap((control, i) => {
    const path = `model_metrics.metric_control[${i}]`;
    return [
      ...faultIf(!control.metric_identifier?.family, `${path}.metric_identifier.family`, 'must be given'),
      ...faultIf(!control.histogram_options?.buckets, `${path}.histogram_options.buckets`, 'must have at least one'),
    ];
  });
}
