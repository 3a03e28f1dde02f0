import { type ConfigFault, faultIf } from './fault.ts';
import type { ModelConfig, TensorConfig } from './model-config.ts';
import type { Int64 } from './scalars.ts';

/** Rules for `input` and `output`. Only the backend can tell whether both lists are complete. */
export function tensorFaults(config: ModelConfig): readonly ConfigFault[] {
  return [
    ...(config.input ?? []).flatMap((tensor, i) => oneTensorFaults(config, tensor, `input[${i}]`)),
    ...(config.output ?? []).flatMap((tensor, i) => oneTensorFaults(config, tensor, `output[${i}]`)),
  ];
}

function oneTensorFaults(config: ModelConfig, tensor: TensorConfig, path: string): readonly ConfigFault[] {
  const { name, data_type, dims, format } = tensor;
  const reshape = tensor.reshape as { readonly shape?: readonly Int64[] } | undefined;
  const asPlan = isTensorRt(config);
  const imageFormat = format === 'FORMAT_NHWC' || format === 'FORMAT_NCHW';
  return [
    ...faultIf(name === '', `${path}.name`, 'must be given'),
    ...faultIf(data_type === 'TYPE_INVALID', `${path}.data_type`, 'must be given'),
    ...faultIf(dims.length === 0, `${path}.dims`, 'must have at least one dimension'),
    ...sizeFaults(dims, `${path}.dims`),
    ...(reshape ? reshapeFaults(config, dims, reshape.shape ?? [], `${path}.reshape.shape`) : []),
    ...faultIf(imageFormat && dims.length !== 3, `${path}.dims`, `must be 3 for ${format}`),
    ...faultIf(tensor.is_shape_tensor === true && !asPlan, `${path}.is_shape_tensor`, 'is for TensorRT only'),
    ...nonLinearFaults(tensor, asPlan, `${path}.is_non_linear_format_io`),
  ];
}

function nonLinearFaults(tensor: TensorConfig, asPlan: boolean, path: string): readonly ConfigFault[] {
  if (tensor.is_non_linear_format_io !== true) return [];
  return [
    ...faultIf(!asPlan, path, 'is for TensorRT only'),
    ...faultIf(tensor.dims.length !== 3, path, 'needs a tensor of 3 dimensions'),
  ];
}

const sizeFaults = (sizes: readonly Int64[], path: string): readonly ConfigFault[] =>
  sizes.flatMap((size, i) =>
    faultIf(Number(size) < 1 && size !== -1, `${path}[${i}]`, `${size} must be 1 or more, or -1 for any`),
  );

function reshapeFaults(
  config: ModelConfig,
  dims: readonly Int64[],
  shape: readonly Int64[],
  path: string,
): readonly ConfigFault[] {
  const noBatch = (config.max_batch_size ?? 0) === 0;
  return [
    ...sizeFaults(shape, path),
    ...faultIf(shape.length === 0 && noBatch, path, 'cannot be empty while max_batch_size is 0'),
    ...faultIf(!sameElements(dims, shape), path, `[${shape}] does not hold as many elements as dims [${dims}]`),
  ];
}

/**
 * The products between variable dimensions must be equal: [2,4,-1,6] reshapes to [8,-1,1,6]. An
 * empty product is 1.
 */
function sameElements(dims: readonly Int64[], shape: readonly Int64[]): boolean {
  const a = productsBetweenVariables(dims);
  const b = productsBetweenVariables(shape);
  return a.length === b.length && a.every((product, i) => product === b[i]);
}

function productsBetweenVariables(sizes: readonly Int64[]): readonly bigint[] {
  const products = [1n];
  for (const size of sizes) {
    if (size === -1) products.push(1n);
    else products.push((products.pop() ?? 1n) * BigInt(size));
  }
  return products;
}

type BatchTensor = {
  readonly target_name?: readonly string[];
  readonly source_input?: readonly string[];
  readonly data_type?: string;
};

/** Rules for `batch_input` and `batch_output`. */
export function batchTensorFaults(config: ModelConfig): readonly ConfigFault[] {
  const inputs = new Set((config.input ?? []).map((tensor) => tensor.name));
  const outputs = new Set((config.output ?? []).map((tensor) => tensor.name));
  const sourceFaults = ({ source_input: sources = [] }: BatchTensor, path: string): readonly ConfigFault[] => [
    ...faultIf(sources.length !== 1, `${path}.source_input`, `must name 1 input, not ${sources.length}`),
    ...sources.flatMap((name) => faultIf(!inputs.has(name), `${path}.source_input`, `there is no input '${name}'`)),
  ];
  return [
    ...((config.batch_input ?? []) as readonly BatchTensor[]).flatMap((tensor, i) => {
      const path = `batch_input[${i}]`;
      const typed = tensor.data_type === 'TYPE_INT32' || tensor.data_type === 'TYPE_FP32';
      return [
        ...sourceFaults(tensor, path),
        ...faultIf(!typed, `${path}.data_type`, 'must be TYPE_INT32 or TYPE_FP32'),
      ];
    }),
    ...((config.batch_output ?? []) as readonly BatchTensor[]).flatMap((tensor, i) => {
      const path = `batch_output[${i}]`;
      const targets = tensor.target_name ?? [];
      return [
        ...sourceFaults(tensor, path),
        ...targets.flatMap((name) =>
          faultIf(!outputs.has(name), `${path}.target_name`, `there is no output '${name}'`),
        ),
        ...faultIf(new Set(targets).size < targets.length, `${path}.target_name`, 'names an output twice'),
      ];
    }),
  ];
}

/** True for TensorRT under either of its two names; the server fills in the other. */
export const isTensorRt = (config: ModelConfig): boolean =>
  config.platform ? config.platform === 'tensorrt_plan' : config.backend === 'tensorrt';
