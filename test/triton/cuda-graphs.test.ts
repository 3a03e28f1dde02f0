import { describe, expect, it } from 'vitest';
import { findCudaGraph, graphSpecsUpTo, listCudaGraphs } from '#triton/config/cuda-graphs.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { validateConfig } from '#triton/config/validation.ts';

const plan: ModelConfig = {
  name: 'm',
  backend: 'tensorrt',
  max_batch_size: 12,
  input: [{ name: 'X', data_type: 'TYPE_FP32', dims: [3, 8] }],
  output: [{ name: 'Y', data_type: 'TYPE_FP32', dims: [4] }],
};
const graphsOf = (change: Partial<ModelConfig>, cuda: object = {}) =>
  listCudaGraphs({ ...plan, ...change, optimization: { cuda: { graphs: true, ...cuda } } });
const sizesOf = (change: Partial<ModelConfig>, cuda: object = {}) =>
  graphsOf(change, cuda).map(({ from, to }) => (from === to ? to : [from, to]));

describe("TensorRT's CUDA graphs", () => {
  it('are none unless the config asks for them', () => {
    expect(listCudaGraphs(plan)).toEqual([]);
    expect(graphsOf({}, { graphs: false })).toEqual([]);
  });

  it('are of few sizes by default', () => {
    expect(sizesOf({})).toEqual([1, 2, 3, 4, 6, 8, 12]);
    expect(sizesOf({ dynamic_batching: {} })).toEqual([1, 12]);
    expect(sizesOf({ dynamic_batching: { preferred_batch_size: [4, 16] } })).toEqual([1, 4, 12]);
    expect(sizesOf({ max_batch_size: 0 })).toEqual([0]);
  });

  it('execute smaller batches only with a lower bound and inputs', () => {
    const input = { X: { dim: [3, 8] } };
    const bound = { batch_size: 2, input };
    expect(sizesOf({}, { graph_spec: [{ batch_size: 4 }] })).toEqual([4]);
    expect(sizesOf({}, { graph_spec: [{ batch_size: 4, graph_lower_bound: { batch_size: 2 } }] })).toEqual([4]);
    expect(sizesOf({}, { graph_spec: [{ batch_size: 4, input, graph_lower_bound: bound }] })).toEqual([[2, 4]]);
  });

  it('are the exact one, or else the smallest that is large enough', () => {
    const graphs = [
      { from: 2, to: 8 },
      { from: 3, to: 4 },
      { from: 6, to: 6 },
    ];
    const to = [1, 3, 5, 6, 8, 9].map((size) => findCudaGraph(graphs, size)?.to);
    expect(to).toEqual([undefined, 4, 8, 6, 8, undefined]);
  });
});

describe('a graph_spec for all batches', () => {
  it('pads each batch to the next power of two, or to the largest', () => {
    const graph_spec = graphSpecsUpTo(plan);
    const config = { ...plan, optimization: { cuda: { graphs: true, graph_spec } } } as ModelConfig;
    expect(validateConfig(config)).toEqual([]);
    const graphs = listCudaGraphs(config);
    const sizes = Array.from({ length: 12 }, (_, index) => findCudaGraph(graphs, index + 1)?.to);
    expect(sizes).toEqual([1, 2, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12]);
  });

  it('has the dimensions of the engine', () => {
    const reshaped = {
      ...plan,
      input: [{ ...plan.input?.[0], name: 'X', data_type: 'TYPE_FP32', dims: [1], reshape: { shape: [] } }],
    };
    expect(graphSpecsUpTo(reshaped)?.[0]).toMatchObject({ batch_size: 1, input: { X: { dim: [] } } });
  });

  it('needs batches, and inputs of known sizes', () => {
    expect(graphSpecsUpTo({ ...plan, max_batch_size: 0 })).toBeUndefined();
    expect(graphSpecsUpTo({ ...plan, input: [{ name: 'X', data_type: 'TYPE_FP32', dims: [-1] }] })).toBeUndefined();
  });
});
