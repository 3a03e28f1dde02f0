import { expect, it } from 'vitest';
import { type ScenarioSetting, scenarioParameters } from '#app/profile/scenario-parameters.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';

const setting: Omit<ScenarioSetting, 'config'> = {
  gpu: 'A30',
  dataset: 'random',
  protocol: 'grpc',
  sharedMemory: null,
  requestCount: null,
  server: 'triton 2.51.0',
  labels: {},
};
const readParameter = (config: ModelConfig, name: string): string | undefined =>
  scenarioParameters({ ...setting, config }).find(([each]) => each === name)?.[1];

it('says which batches run as CUDA graphs, where the backend has them', () => {
  const graphs = (change: object, cuda: object) =>
    readParameter({ name: 'm', max_batch_size: 8, optimization: { cuda }, ...change } as ModelConfig, 'CUDA graphs');
  const plan = { backend: 'tensorrt', dynamic_batching: {} };
  expect(graphs(plan, {})).toBe('off');
  expect(graphs(plan, { graphs: true })).toBe('of batches 1, 8');
  expect(graphs({ backend: 'python' }, { graphs: true })).toBeUndefined();
  const accelerator = { name: 'tensorrt', parameters: { trt_cuda_graph_enable: 'True' } };
  const optimization = { execution_accelerators: { gpu_execution_accelerator: [accelerator] } };
  expect(graphs({ backend: 'onnxruntime', optimization }, {})).toBe('in TensorRT');
  expect(graphs({ backend: 'onnxruntime' }, { graphs: true })).toBeUndefined();
});
