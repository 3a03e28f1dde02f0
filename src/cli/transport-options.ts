import { TrituneError } from '../base/errors.ts';
import type { OpenOptions } from '../loadgen/transports/open.ts';
import type { Compression, TensorFormat } from '../loadgen/types.ts';
import type { ModelConfig } from '../triton/model-config.ts';
import type { OptionTable } from './option-table.ts';
import { positiveWhole } from './option-values.ts';

/** How requests travel, beyond the protocol. */
export interface TransportFlags {
  readonly streaming?: boolean;
  readonly compression?: 'none' | Compression;
  readonly tensorFormat?: TensorFormat;
  readonly sharedMemory?: 'none' | 'system' | 'cuda';
  /** Bytes. */
  readonly outputSharedMemorySize?: number;
}

export const transportOptionTable: OptionTable<TransportFlags> = {
  streaming: {
    flags: '--streaming',
    help: 'send requests on long-lived gRPC streams, as decoupled models need; a request ends with its last response',
  },
  compression: {
    flags: '--compression <coding>',
    help: 'how the bytes of requests are compressed, once, before they are sent',
    choices: ['none', 'gzip', 'deflate'],
    default: 'none',
  },
  tensorFormat: {
    flags: '--tensor-format <format>',
    help: 'how tensors go over HTTP; gRPC knows only binary',
    choices: ['binary', 'json'],
    default: 'binary',
  },
  sharedMemory: {
    flags: '--shared-memory <kind>',
    help: 'tensors lie in memory that the server shares and do not travel; the server must be on this machine',
    choices: ['none', 'system', 'cuda'],
    default: 'none',
  },
  outputSharedMemorySize: {
    flags: '--output-shared-memory-size <bytes>',
    help: 'room in shared memory for an output of strings, or of any size (default: 102400)',
    parse: positiveWhole,
  },
};

/** What the options mean for the transport. Errors: USAGE for a decoupled model without streams: it answers nothing else. */
export function transportOptionsOf(
  { streaming, compression, tensorFormat }: TransportFlags,
  { name, model_transaction_policy }: ModelConfig,
): Pick<OpenOptions, 'streaming' | 'compression' | 'tensorFormat'> {
  if (model_transaction_policy?.decoupled && !streaming) {
    throw new TrituneError(
      'USAGE',
      `'${name}' is decoupled: it takes requests on streams only`,
      'add --streaming (with -i grpc)',
    );
  }
  return { streaming, tensorFormat, compression: compression === 'none' ? undefined : compression };
}
