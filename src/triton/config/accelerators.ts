import type { JsonObject } from '#base/json.ts';
import { lookUp } from '#base/look-up.ts';
import type { ModelConfig } from './model-config.ts';

/** Returns the execution accelerators for GPUs and CPUs. */
export function listAccelerators({ optimization }: ModelConfig): readonly JsonObject[] {
  const accelerators = optimization?.execution_accelerators as Record<string, unknown> | undefined;
  return ['gpu_execution_accelerator', 'cpu_execution_accelerator'].flatMap((field) => {
    const list = lookUp(accelerators, field);
    return Array.isArray(list) ? (list as JsonObject[]) : [];
  });
}

/** True for a config whose backend hands parts of its models to TensorRT. */
export const hasTensorrt = (config: ModelConfig): boolean =>
  listAccelerators(config).some(({ name }) => name === 'tensorrt');

/** Returns the parameters of an accelerator; none where it has none. */
export const readParameters = ({ parameters }: JsonObject): JsonObject => (parameters as JsonObject | undefined) ?? {};

/**
 * True for a switch of an accelerator that is on, as ONNX Runtime's backend reads it: `1` or
 * `true`.
 */
export const isSwitchedOn = (value: unknown): boolean => value === '1' || String(value).toLowerCase() === 'true';
