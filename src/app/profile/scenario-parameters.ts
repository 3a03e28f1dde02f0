import type { JsonObject } from '#base/json.ts';
import { lookUp } from '#base/look-up.ts';
import type { ScenarioParameter } from '#report/scenario-case.ts';
import { isSwitchedOn, listAccelerators, readParameters } from '#triton/config/accelerators.ts';
import { namesOfBackend } from '#triton/config/backend-names.ts';
import { listCudaGraphs } from '#triton/config/cuda-graphs.ts';
import { countInstances } from '#triton/config/instances.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';

/** The settings of a scenario's measurement. */
export interface ScenarioSetting {
  readonly config: ModelConfig;
  /** The GPU's name; null for a model that runs on the CPU. */
  readonly gpu: string | null;
  readonly dataset: string;
  readonly protocol: 'grpc' | 'http';
  /** null if requests carry the tensors. */
  readonly sharedMemory: string | null;
  /** Requests in a measurement; null if measurements last a time. */
  readonly requestCount: number | null;
  /** Name and version of the server. */
  readonly server: string;
  /** The user's own parameters by name; they override parameters of the same name. */
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * Returns the parameters of a scenario, named as in published tables. A config does not say with
 * what precision a plan or a graph was built. Only the accelerators' conversions and the user's
 * labels are known.
 */
export function scenarioParameters(setting: ScenarioSetting): readonly ScenarioParameter[] {
  const { config, gpu, dataset, protocol, sharedMemory, requestCount, server, labels } = setting;
  const accelerators = listAccelerators(config);
  const parameters: readonly (readonly [name: string, value: string | null])[] = [
    ['GPU', gpu],
    ['Backend', readBackend(config)],
    ['Backend accelerator', accelerators.map(({ name }) => String(name)).join(', ') || '-'],
    ['Precision', findPrecision(accelerators)],
    ['Model format', namesOfBackend(config)?.format ?? null],
    ['Max batch size', String(config.max_batch_size ?? 0)],
    ['Number of model instances', String(countInstances(config))],
    ['Dynamic batching', describeBatching(config)],
    ['CUDA graphs', describeCudaGraphs(config)],
    ['Dataset', dataset],
    ['Device', gpu === null ? 'cpu' : 'gpu'],
    ['Protocol', protocol === 'grpc' ? 'gRPC' : 'HTTP'],
    ['Shared memory', sharedMemory],
    ['Request count', requestCount === null ? null : String(requestCount)],
    ['Server', server],
  ];
  const ownNames = new Set(parameters.map(([name]) => name));
  return [
    ...parameters.map(([name, value]) => [name, lookUp(labels, name) ?? value] as const),
    ...Object.entries(labels).filter(([name]) => !ownNames.has(name)),
  ].filter((parameter): parameter is ScenarioParameter => parameter[1] !== null);
}

const readBackend = (config: ModelConfig): string =>
  namesOfBackend(config)?.name ?? String(config.backend || config.platform || 'unknown');

function describeBatching({ dynamic_batching: batching }: ModelConfig): string {
  if (!batching) return 'off';
  const { preferred_batch_size: preferred = [], max_queue_delay_microseconds: delay = 0 } = batching;
  return `preferred sizes ${preferred.length === 0 ? 'none' : preferred.join(', ')}; queue delay ${delay} us`;
}

/** Returns whether executions run as CUDA graphs; null for a backend without them. */
function describeCudaGraphs(config: ModelConfig): string | null {
  if (namesOfBackend(config)?.backend === 'tensorrt') {
    const sizes = listCudaGraphs(config).map(({ from, to }) => (from === to ? String(to) : `${from} to ${to}`));
    return sizes.length === 0 ? 'off' : `of batches ${sizes.join(', ')}`;
  }
  const switches = listAccelerators(config).map((each) => readParameters(each).trt_cuda_graph_enable);
  return switches.some(isSwitchedOn) ? 'in TensorRT' : null;
}

function findPrecision(accelerators: readonly JsonObject[]): string | null {
  const modes = accelerators
    .map((each) => readParameters(each).precision_mode)
    .filter((mode) => typeof mode === 'string');
  return modes.length === 0 ? null : modes.join(', ');
}
