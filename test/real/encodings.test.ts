import { describe, expect, inject, it } from 'vitest';
import { openTransport } from '#loadgen/transports/open.ts';
import type { InferRequest } from '#loadgen/types.ts';
import { sendMany } from '../support/transport-suite.ts';

const { grpcUrl, httpUrl } = inject('realServer');

const request: InferRequest = {
  model: 'sleeper',
  version: '',
  batch: 4,
  inputs: [
    { name: 'INPUT', datatype: 'FP32', shape: [4, 8], raw: new Uint8Array(new Float32Array(32).fill(1.5).buffer) },
  ],
  parameters: [{ name: 'priority', type: 'int', value: 1 }],
};

describe('a real Triton', () => {
  it.each([
    ['gRPC', 'grpc', {}],
    ['gRPC streams', 'grpc', { streaming: true }],
    ['HTTP', 'http', {}],
    ['HTTP with JSON tensors', 'http', { tensorFormat: 'json' }],
  ] as const)('takes requests over %s, compressed or not', async (_, protocol, more) => {
    for (const compression of [undefined, 'gzip', 'deflate'] as const) {
      const url = protocol === 'grpc' ? grpcUrl : httpUrl;
      const transport = openTransport(protocol, { url, timeoutMs: 10_000, compression, ...more });
      expect(await sendMany(transport, request, 5)).toMatchObject(Array(5).fill({ ok: true }));
      await transport.close();
    }
  });
});
