import type { Json } from '#base/json.ts';
import type { ModelConfig, TensorConfig } from '#triton/config/model-config.ts';
import type { RelativeValue } from '../types.ts';

type RelativeWarmUp = RelativeValue & { readonly kind: 'warm-up' };

/**
 * Reads a `model_warmup` that follows the largest batch: `max`, or `each`; undefined for anything
 * else.
 */
export const relativeWarmUp = (value: Json): RelativeWarmUp | undefined =>
  value === 'max' || value === 'each' ? { kind: 'warm-up', batches: value } : undefined;

/** The part of a `model_warmup` sample that follows the largest batch. */
interface Sample {
  readonly batch_size?: number;
}

/**
 * Returns `model_warmup` with requests of zeros: one of the largest batch; with `each`, first one
 * of each power of two below it. Or returns why there is none: a request needs the size of every
 * dimension.
 */
export function warmUpTo(
  { max_batch_size: largest = 0, input: inputs = [] }: ModelConfig,
  { batches }: RelativeWarmUp,
): { readonly value: Json } | { readonly reason: string } {
  const open = inputs.find(({ dims = [] }) => dims.some((size) => Number(size) < 0));
  if (open) return { reason: `model_warmup needs sizes, and input '${open.name}' has a dimension of any size` };
  if (inputs.length === 0) return { reason: 'model_warmup needs the inputs of the model, and the config names none' };
  const last = Math.max(1, largest);
  const below = batches === 'each' ? Array.from({ length: Math.ceil(Math.log2(last)) }, (_, power) => 2 ** power) : [];
  const value = [...below, last].map((size) => ({
    name: `batch_${size}`,
    batch_size: size,
    count: 1,
    inputs: Object.fromEntries(inputs.map((input) => [input.name, zerosFor(input)])),
  }));
  return { value };
}

const zerosFor = ({ data_type: type, dims = [] }: TensorConfig): Json => ({
  ...(type !== undefined && { data_type: type }),
  dims: [...dims],
  zero_data: true,
});

/**
 * Returns a config's own warm-up after a change of the largest batch, without larger samples, which
 * Triton refuses.
 */
export const warmUpKept = (samples: readonly Sample[], largest: number): readonly Sample[] =>
  samples.map((sample) => {
    const { batch_size: size = 0 } = sample;
    return size > Math.max(1, largest) ? { ...sample, batch_size: Math.max(1, largest) } : sample;
  });
