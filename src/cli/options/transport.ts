import { compressions, sharedMemoryKinds, type TransportSpec, tensorFormats } from '../../spec/traffic-spec.ts';
import type { OptionTable } from './option-table.ts';
import { positiveWhole } from './option-values.ts';

export const transportOptionTable: OptionTable<TransportSpec> = {
  streaming: {
    flags: '--streaming',
    help: 'send requests on long-lived gRPC streams, as decoupled models need; a request ends with its last response',
  },
  compression: {
    flags: '--compression <coding>',
    help: 'how the bytes of requests are compressed, once, before they are sent',
    choices: compressions,
    default: 'none',
  },
  tensorFormat: {
    flags: '--tensor-format <format>',
    help: 'how tensors go over HTTP; gRPC knows only binary',
    choices: tensorFormats,
    default: 'binary',
  },
  sharedMemory: {
    flags: '--shared-memory <kind>',
    help: 'tensors lie in memory that the server shares and do not travel; the server must be on this machine',
    choices: sharedMemoryKinds,
    default: 'none',
  },
  outputSharedMemorySize: {
    flags: '--output-shared-memory-size <bytes>',
    help: 'room in shared memory for an output of strings, or of any size (default: 102400)',
    parse: positiveWhole,
  },
};
