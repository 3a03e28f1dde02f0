import type { JsonObject } from '#base/json.ts';
import type { ModelConfig, TensorConfig } from './model-config.ts';

/** The batches that one CUDA graph executes, padded to the last. */
export interface CudaGraph {
  readonly from: number;
  readonly to: number;
}

type Bound = { readonly batch_size?: number; readonly input?: JsonObject };
export type GraphSpec = Bound & { readonly graph_lower_bound?: Bound };

/**
 * Returns the CUDA graphs that TensorRT's backend captures for the config; none if it captures
 * none. Without `graph_spec` they are of batch 1, the preferred sizes and the largest batch;
 * without a dynamic batcher of 1, 2, 3, 4, 6, 8, 12, 16 and the largest. A graph with a lower bound
 * also executes the batches down to it, but only if it names its inputs: otherwise the backend
 * expects inputs of its own size. Source: `InitializeGraphSpecs`, `SetCudaGraphShape` and
 * `FindClosestCudaGraph` in instance_state.cc of tensorrt_backend.
 */
export function listCudaGraphs(config: ModelConfig): readonly CudaGraph[] {
  const cuda = (config.optimization?.cuda ?? {}) as { graphs?: boolean; graph_spec?: readonly GraphSpec[] };
  if (cuda.graphs !== true) return [];
  const largest = config.max_batch_size ?? 0;
  const specs = cuda.graph_spec ?? [];
  if (specs.length > 0) {
    return specs.map(({ batch_size: to = 0, input, graph_lower_bound: bound }) => {
      const from = bound !== undefined && input !== undefined ? (bound.batch_size ?? 0) : to;
      return { from, to };
    });
  }
  const sizes = config.dynamic_batching
    ? [1, ...(config.dynamic_batching.preferred_batch_size ?? [])]
    : [1, 2, 3, 4, 6, 8, 12, 16];
  const captured = largest === 0 ? [0] : [...sizes, largest].filter((size) => size <= largest);
  return [...new Set(captured)].sort((a, b) => a - b).map((size) => ({ from: size, to: size }));
}

/** Returns the graph that executes a batch of this size, or undefined. */
export const findCudaGraph = (graphs: readonly CudaGraph[], batchSize: number): CudaGraph | undefined =>
  graphs.find(({ to }) => to === batchSize) ??
  graphs.filter(({ from, to }) => from <= batchSize && batchSize <= to).sort((a, b) => a.to - b.to)[0];

/**
 * Returns a `graph_spec` by which every batch up to the largest is executed as a CUDA graph: graphs
 * of each power of two below it and of the largest, each for the batches above the one before.
 * undefined for a model without batches, and if an input has a dimension of any size, for which a
 * graph cannot be captured.
 */
export function graphSpecsUpTo({ max_batch_size: largest = 0, input = [] }: ModelConfig): GraphSpec[] | undefined {
  const shapes = Object.fromEntries(input.map((tensor) => [tensor.name, { dim: listEngineDims(tensor) }]));
  const isFixed = Object.values(shapes).every(({ dim }) => dim.every((size) => Number(size) >= 0));
  if (largest < 1 || !isFixed || input.length === 0) return undefined;
  const below = Array.from({ length: Math.ceil(Math.log2(largest)) }, (_, power) => 2 ** power);
  return [...below, largest].map((size, index) => ({
    batch_size: size,
    input: shapes,
    graph_lower_bound: { batch_size: (below[index - 1] ?? 0) + 1, input: shapes },
  }));
}

/** The dimensions that the engine has, without the batch. */
function listEngineDims({ dims, reshape }: TensorConfig): readonly (number | string)[] {
  const { shape } = (reshape ?? {}) as { readonly shape?: readonly number[] };
  return [...(shape ?? dims)];
}
