import type { Json } from '#base/json.ts';
import { relativeSizes } from '../edits/batch-sizes.ts';
import { firstGpus, instanceGroups } from '../edits/placement.ts';
import { relativeWarmUp } from '../edits/warm-up.ts';
import type { RelativeValue } from '../types.ts';

/** A short name for a field that is often tuned. */
interface KnownKnob {
  readonly path: string;
  readonly description: string;
  /** Converts the value from the file's spelling to the config's; null removes the field. */
  readonly spell?: (value: Json) => Json;
  /** A surrounding message that is removed instead of the field. */
  readonly within?: string;
  /** Values that follow the largest batch; undefined for one that does not. */
  readonly relative?: (value: Json) => RelativeValue | undefined;
  /** Values that set several fields, by name: field path → value; null removes the field. */
  readonly choices?: Readonly<Record<string, Readonly<Record<string, Json>>>>;
}

const tensorrt = 'optimization.execution_accelerators.gpu_execution_accelerator[name=tensorrt]';

/** Parameter names that need no `path`; docs/reference/search-space.md is printed from them. */
const knobs = {
  instances: { path: 'instance_group[0].count', description: 'model instances (on each GPU, if on GPUs)' },
  instance_kind: {
    path: 'instance_group[0].kind',
    description: 'where instances run: KIND_CPU, KIND_GPU or KIND_MODEL',
  },
  gpus: { path: 'instance_group[0].gpus', description: 'the GPUs that hold instances' },
  gpu_count: {
    path: 'instance_group[0].gpus',
    description: 'how many GPUs hold instances, from the first on: 1, 2, 4',
    spell: firstGpus,
  },
  placement: {
    path: 'instance_group',
    description: 'instances by GPU: {0: 2, 1: 1}; cpu for those on the CPU. In place of instances and their kind',
    spell: instanceGroups,
  },
  max_batch_size: { path: 'max_batch_size', description: 'largest batch of one execution' },
  dynamic_batching: { path: 'dynamic_batching', description: 'whether the server joins requests into batches' },
  preferred_batch_size: {
    path: 'dynamic_batching.preferred_batch_size',
    description: 'batch sizes that are sent at once without waiting for the delay: max, multiples_of_8, 4, [4, 8], …',
    relative: relativeSizes,
  },
  queue_delay_us: {
    path: 'dynamic_batching.max_queue_delay_microseconds',
    description: 'how long a request may wait for a larger batch, in microseconds',
  },
  queue_size: {
    path: 'dynamic_batching.default_queue_policy.max_queue_size',
    description: 'how many requests may wait; 0 is no limit, and further ones are refused',
  },
  queue_timeout_us: {
    path: 'dynamic_batching.default_queue_policy.default_timeout_microseconds',
    description: 'how long a request may wait at all, in microseconds; 0 is no limit',
  },
  timeout_action: {
    path: 'dynamic_batching.default_queue_policy.timeout_action',
    description: 'what becomes of requests that have waited too long: REJECT or DELAY',
  },
  priority_levels: { path: 'dynamic_batching.priority_levels', description: 'how many priorities requests may have' },
  default_priority: {
    path: 'dynamic_batching.default_priority_level',
    description: 'the priority of requests that state none',
  },
  sequence_strategy: {
    path: 'sequence_batching',
    description: 'how sequences are batched: direct (each has a slot of an instance) or oldest',
    choices: {
      direct: { 'sequence_batching.oldest': null, 'sequence_batching.direct': true },
      oldest: { 'sequence_batching.direct': null, 'sequence_batching.oldest': true },
    },
  },
  candidate_sequences: {
    path: 'sequence_batching.oldest.max_candidate_sequences',
    description: 'how many sequences may be batched together, with the strategy oldest',
  },
  sequence_delay_us: {
    path: 'sequence_batching.oldest.max_queue_delay_microseconds',
    description:
      'how long a request of a sequence may wait for a larger batch, in microseconds, with the strategy oldest',
  },
  slot_utilization: {
    path: 'sequence_batching.direct.minimum_slot_utilization',
    description: 'share of the slots that must have a request before an execution, with the strategy direct',
  },
  rate_limiter_priority: {
    path: 'instance_group[0].rate_limiter.priority',
    description:
      "the instances' priority in the rate limiter, of a server that has it on: 2 has half as many turns as 1",
  },
  rate_limiter_resources: {
    path: 'instance_group[0].rate_limiter.resources',
    description: 'what an execution holds of the rate limiter: [{ name: R, count: 1 }]',
  },
  inflight_requests: {
    path: 'ensemble_scheduling.max_inflight_requests',
    description: 'how many requests each step of an ensemble may have at once; 0 is no limit',
  },
  cuda_graphs: { path: 'optimization.cuda.graphs', description: 'whether executions are captured as CUDA graphs' },
  cuda_graph_spec: {
    path: 'optimization.cuda.graph_spec',
    description:
      'batch sizes of CUDA graphs. powers_of_2 has graphs for all batches, each padded to the next power of two, if all sizes of the inputs are known; null has those of batch 1, the preferred sizes and the largest batch',
    relative: (value) => (value === 'powers_of_2' ? { kind: 'graphs' } : undefined),
  },
  busy_wait_events: { path: 'optimization.cuda.busy_wait_events', description: 'wait for the GPU by polling' },
  output_copy_stream: { path: 'optimization.cuda.output_copy_stream', description: 'copy outputs in their own stream' },
  eager_batching: { path: 'optimization.eager_batching', description: 'prepare the next batch during an execution' },
  graph_level: { path: 'optimization.graph.level', description: "the backend's graph optimization level" },
  tensorrt_precision: {
    path: `${tensorrt}.parameters.precision_mode`,
    description: 'the precision of the TensorRT execution accelerator: none (without it), FP32, FP16, BF16, INT8',
    spell: (precision) => (precision === 'none' ? null : precision),
    within: tensorrt,
  },
  openvino: {
    path: 'optimization.execution_accelerators.cpu_execution_accelerator[name=openvino]',
    description: 'whether the OpenVINO execution accelerator runs what it can of the graph, on the CPU',
  },
  plan_file: { path: 'default_model_filename', description: "which of the model's files is served" },
  plan_version: {
    path: 'version_policy',
    description: "which of the model's versions is served",
    spell: (version) => ({ specific: { versions: [version] } }),
  },
  model_warmup: {
    path: 'model_warmup',
    description:
      'requests of zeros that each instance executes before it serves: one of the largest batch (max), or of each size (each)',
    relative: relativeWarmUp,
  },
  response_cache: {
    path: 'response_cache.enable',
    description: 'whether responses are cached, by a server with a cache',
  },
} satisfies Record<string, KnownKnob>;

export type KnownKnobName = keyof typeof knobs;

/** Returns the knob of that short name, if it exists. */
export function knownKnob(name: string): KnownKnob | undefined {
  return Object.hasOwn(knobs, name) ? knobs[name as KnownKnobName] : undefined;
}

export const knownKnobNames: readonly string[] = Object.keys(knobs);
