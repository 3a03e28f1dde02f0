import type { Json } from '#base/json.ts';
import { MS_PER_S, NS_PER_MS } from '#base/units.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { ProtocolFailure } from '../wire/protocol-failure.ts';
import type { EmulatedModelSimulator } from './model-simulator.ts';

/** Executions of one sample of `model_warmup` on each new instance. */
export interface WarmUpSample {
  readonly batchSize: number;
  readonly executions: number;
  readonly executionNs: number;
}

/** The work of instances before they serve. */
export interface WarmUp {
  readonly samples: readonly WarmUpSample[];
  /** The extra time of the load: the instances warm up in parallel, as many as execute at once. */
  readonly seconds: number;
}

/** An entry of `model_warmup` in normal form. */
interface Entry {
  readonly name?: string;
  readonly batch_size?: number;
  readonly count?: number;
  readonly inputs?: Readonly<Record<string, Json>>;
}

/**
 * Returns the warm-up of `instances` new instances, including the cold start of their first
 * executions, `firstExecutionMs`. As in Triton (checked on 2.51), a count of 0 is one execution,
 * and a batch size of 0 none. Throws INVALID_ARGUMENT for a sample that the model would not accept.
 */
export function createWarmUp(
  model: string,
  config: ModelConfig,
  instances: number,
  simulator: EmulatedModelSimulator,
  firstExecutionMs: () => number,
): WarmUp {
  const entries = (config.model_warmup ?? []) as unknown as readonly Entry[];
  for (const entry of entries) checkEntry(model, config, entry);
  if (instances <= 0) return { samples: [], seconds: 0 };
  const busy = Math.min(instances, simulator.atOnce);
  const samples = entries
    .filter(({ batch_size: size = 0 }) => size > 0)
    .map(({ batch_size: batchSize = 0, count = 0 }) => ({
      batchSize,
      executions: count || 1,
      executionNs: simulator.executionNs(batchSize, busy),
    }));
  if (samples.length === 0) return { samples: [], seconds: 0 };
  const sizes = new Set(samples.map(({ batchSize }) => batchSize)).size;
  const coldMs = firstExecutionMs() + sizes * simulator.firstOfSizeMs;
  const ns = samples.reduce((sum, { executions, executionNs }) => sum + executions * executionNs, coldMs * NS_PER_MS);
  return { samples, seconds: (Math.ceil(instances / busy) * ns) / NS_PER_MS / MS_PER_S };
}

/** In Triton's words. */
function checkEntry(
  model: string,
  { max_batch_size: most = 0, input: inputs = [] }: ModelConfig,
  { name = '', batch_size: size = 0, inputs: tensors = {} }: Entry,
): void {
  const allowed = Math.max(1, most);
  if (size > allowed) {
    const text = `failed to run warmup sample '${name}': batch size ${size} for '${model}_0_0', max allowed is ${most}`;
    throw new ProtocolFailure('INVALID_ARGUMENT', text);
  }
  const needed = inputs.filter((input) => input.optional !== true).map((input) => input.name ?? '');
  if (size === 0 || needed.every((input) => Object.hasOwn(tensors, input))) return;
  const got = needed.filter((input) => Object.hasOwn(tensors, input));
  throw new ProtocolFailure(
    'INVALID_ARGUMENT',
    `[request id: <id_unknown>] expected ${needed.length} inputs but got ${got.length} inputs for model '${model}'`,
  );
}
