import { createSharedObject } from '#loadgen/shared-memory/shared-object.ts';
import { openTransport } from '#loadgen/transports/open.ts';
import type { Transport } from '#loadgen/types.ts';
import { grpcSubject, httpSubject } from '../support/transport-subjects.ts';
import { describeTransport } from '../support/transport-suite.ts';

const SLOTS = 600;

/**
 * With slots for outputs, as many as the suite has requests in flight; the object goes with the
 * transport.
 */
function openShared(protocol: 'grpc' | 'http', url: string, timeoutMs: number): Transport {
  const { name: region, path, remove } = createSharedObject('out', 64 * SLOTS);
  const outputs = [{ name: 'OUTPUT0', offset: 0, byteSize: 64 }];
  const sharedOutputs = {
    region,
    memory: { kind: 'system' as const, path },
    slotBytes: 64,
    firstSlot: 0,
    slots: SLOTS,
    outputs,
    encodingsKept: SLOTS,
  };
  const transport = openTransport(protocol, { url, timeoutMs, sharedOutputs });
  return { ...delegating(transport), close: () => transport.close().finally(remove) };
}

const delegating = (transport: Transport): Transport => ({
  prepare: (request) => transport.prepare(request),
  send: (prepared, done) => transport.send(prepared, done),
  close: () => transport.close(),
});

describeTransport(grpcSubject('gRPC with shared outputs', (url, timeoutMs) => openShared('grpc', url, timeoutMs)));
describeTransport(httpSubject('HTTP with shared outputs', (url, timeoutMs) => openShared('http', url, timeoutMs)));
