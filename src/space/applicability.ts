import type { ModelConfig } from '#triton/config/model-config.ts';
import { formatPath } from './edits/config-path.ts';
import { chooseDevice } from './subject.ts';
import type { ConfigPath } from './types.ts';

/**
 * Returns why the field must not be set on a model with this base config; undefined if it may be.
 * The server would refuse it (two schedulers, GPUs for CPU instances), or the model would lose its
 * batch dimension or gain an impossible one (docs/search-spaces.md). `choosesKind`: the space
 * itself sets where instances run, so the base config does not decide.
 */
export function inapplicable(path: ConfigPath, base: ModelConfig, choosesKind: boolean): string | undefined {
  const text = formatPath(path);
  const isBatching = path[0] === 'dynamic_batching';
  if (
    base.ensemble_scheduling !== undefined &&
    (isBatching || path[0] === 'instance_group' || text === 'max_batch_size')
  ) {
    return 'an ensemble has no instances and no batching of its own';
  }
  if (path[0] === 'sequence_batching' && base.sequence_batching === undefined) return 'the model takes no sequences';
  if (path[0] === 'ensemble_scheduling' && base.ensemble_scheduling === undefined) return 'the model is no ensemble';
  if (isBatching && base.sequence_batching !== undefined) return 'the model uses sequence batching';
  if ((isBatching || text === 'max_batch_size') && (base.max_batch_size ?? 0) < 1)
    return 'the model has no batch dimension';
  if (!choosesKind && chooseDevice(base) === 'cpu' && needsGpu(path, text)) return 'the model runs on the CPU';
  if (text.startsWith('optimization.cuda') && base.backend === 'onnxruntime')
    return 'the ONNX Runtime backend ignores it (its own CUDA graphs are a parameter of its TensorRT accelerator)';
  return undefined;
}

function needsGpu(path: ConfigPath, text: string): boolean {
  if (path[0] === 'instance_group') return path[2] === 'gpus';
  return (
    text.startsWith('optimization.cuda') ||
    text.startsWith('optimization.execution_accelerators.gpu_execution_accelerator')
  );
}
