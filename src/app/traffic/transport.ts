import { TrituneError } from '#base/errors.ts';
import type { OpenOptions } from '#loadgen/transports/open.ts';
import type { TransportSpec } from '#spec/traffic-spec.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';

/**
 * Returns the options of the transport. Errors: USAGE for a decoupled model without streams, which
 * it requires.
 */
export function toTransportOptions(
  { streaming, compression, tensorFormat }: TransportSpec,
  { name, model_transaction_policy }: ModelConfig,
): Pick<OpenOptions, 'streaming' | 'compression' | 'tensorFormat'> {
  if (model_transaction_policy?.decoupled && !streaming) {
    throw new TrituneError(
      'USAGE',
      `'${name}' is decoupled and accepts requests on gRPC streams only`,
      'add -i grpc --streaming',
    );
  }
  return { streaming, tensorFormat, compression: compression === 'none' ? undefined : compression };
}
