import type { TransportSpec } from '#spec/traffic-spec.ts';
import { type OptionTable, under } from './option-table.ts';

export const transportOptionTable: OptionTable<TransportSpec> = under<TransportSpec>('Connection', {
  streaming: {
    flags: '--streaming',
    help: 'Send requests over gRPC streams, as decoupled models need; a request ends with its last response',
  },
  compression: {
    flags: '--compression <coding>',
    help: 'Compression of requests',
    default: 'none',
  },
  tensorFormat: {
    flags: '--tensor-format <format>',
    help: 'Encoding of tensors over HTTP',
    default: 'binary',
  },
  sharedMemory: {
    flags: '--shared-memory <kind>',
    help: 'Pass tensors in shared memory; the server must run on this machine',
    default: 'none',
  },
  outputSharedMemorySize: {
    flags: '--output-shared-memory-size <bytes>',
    help: 'Shared memory for an output of unknown size, in bytes (default: 102400)',
    heading: 'Load generator',
  },
});
