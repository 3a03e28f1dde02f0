import { type EnsembleStep, ensembleSteps } from './ensemble-rules.ts';
import type { ModelConfig, TensorConfig } from './model-config.ts';
import type { Int64 } from './scalars.ts';

/** A model's description of a tensor of the ensemble. */
interface Said {
  readonly model: string;
  readonly dataType: string;
  /** Includes the batch dimension. */
  readonly shape: readonly Int64[];
}

/**
 * Returns why an ensemble cannot be served with these configs of its models, in Triton 2.51's
 * words; null if it can. Checks batch sizes, and name, type and shape of every tensor; skips a
 * model with an unknown config (undefined).
 */
export function ensembleMisfit(
  ensemble: ModelConfig,
  findConfig: (model: string) => ModelConfig | undefined,
): string | null {
  const tensors = new Map<string, Said>();
  for (const tensor of [...(ensemble.input ?? []), ...(ensemble.output ?? [])])
    tensors.set(tensor.name, said(ensemble.name ?? '', ensemble, tensor));
  for (const step of ensembleSteps(ensemble)) {
    const model = step.model_name ?? '';
    const config = findConfig(model);
    if (!config) continue;
    const misfit = batchMisfit(ensemble, model, config) ?? tensorMisfit(ensemble, step, config, tensors);
    if (misfit !== null) return misfit;
  }
  return null;
}

function batchMisfit(ensemble: ModelConfig, model: string, config: ModelConfig): string | null {
  const [most, size] = [ensemble.max_batch_size ?? 0, config.max_batch_size ?? 0];
  if (size === 0 || most <= size) return null;
  return (
    `ensemble ${ensemble.name} allows maximum batch size ${most}, ` +
    `but it contains model ${model} which only allows maximum batch size to be ${size}`
  );
}

/** Adds the step's description of tensors that have none yet. */
function tensorMisfit(
  ensemble: ModelConfig,
  step: EnsembleStep,
  config: ModelConfig,
  tensors: Map<string, Said>,
): string | null {
  const [model, place] = [step.model_name ?? '', `in ensemble ${ensemble.name},`];
  const unmapped = (config.input ?? []).find((one) => !one.optional && !Object.hasOwn(step.input_map ?? {}, one.name));
  const ways = [
    { maps: step.input_map, tensors: config.input, verb: 'is mapping to non-existing input' },
    { maps: step.output_map, tensors: config.output, verb: 'is mapped from non-existing output' },
  ];
  for (const { maps, tensors: configs, verb } of ways) {
    for (const [name, tensor] of Object.entries(maps ?? {})) {
      const tensorConfig = configs?.find((one) => one.name === name);
      if (!tensorConfig) return `${place} ensemble tensor ${tensor} ${verb} ${name} in model ${model}`;
      const before = tensors.get(tensor);
      const now = said(model, config, tensorConfig);
      const differs = before ? difference(before, now) : null;
      if (differs !== null) return `${place} ensemble tensor ${tensor}: ${differs}`;
      tensors.set(tensor, before ?? now);
    }
  }
  return unmapped ? `${place} input ${unmapped.name} in model ${model} is not mapped to any ensemble tensors` : null;
}

function difference(before: Said, now: Said): string | null {
  const inferred = (what: string, of: (said: Said) => string): string =>
    `inconsistent ${what}: ${of(before)} is inferred from model ${before.model} while ${of(now)} is inferred from model ${now.model}`;
  if (before.dataType !== now.dataType) return inferred('data type', ({ dataType }) => dataType);
  const isAlike =
    before.shape.length === now.shape.length &&
    before.shape.every(
      (size, index) => size === now.shape[index] || Number(size) < 0 || Number(now.shape[index] ?? 0) < 0,
    );
  return isAlike ? null : inferred('shape', ({ shape }) => `[${shape.join(',')}]`);
}

const said = (model: string, config: ModelConfig, { data_type, dims }: TensorConfig): Said => ({
  model,
  dataType: String(data_type),
  shape: [...((config.max_batch_size ?? 0) > 0 ? [-1] : []), ...dims],
});
