import { describe, expect, it, onTestFinished } from 'vitest';
import { openTransport } from '#loadgen/transports/open.ts';
import type { InferRequest, SendOutcome } from '#loadgen/types.ts';
import { startGrpcServer, startHttpServer } from '../support/infer-servers.ts';

const MIB = 2 ** 20;
/** 64 bytes to 64 MiB, and the sizes next to a frame of HTTP/2. */
const sizes = [64, 1024, 16_383, 16_384, 16_385, 128 * 1024, MIB, 8 * MIB, 64 * MIB];

describe.each(['grpc', 'http'] as const)('bodies over our own client of %s', (protocol) => {
  it('go and come back whole, from 64 bytes to 64 MiB', async () => {
    const server = protocol === 'grpc' ? await startGrpcServer() : await startHttpServer();
    const transport = openTransport(protocol, { url: server.url, timeoutMs: 15_000 });
    onTestFinished(async () => {
      await transport.close();
      await server.close();
    });
    for (const bytes of sizes) {
      const raw = Buffer.alloc(bytes, 'no two neighbouring pieces are the same');
      raw.writeUInt32LE(bytes, bytes - 4);
      const inputs = [{ name: 'IN', datatype: 'UINT8', shape: [1, bytes], raw }];
      const request: InferRequest = { model: 'm', version: '', batch: 1, inputs };
      server.replyWith({ kind: 'ok', bodyBytes: bytes });
      const outcome = await new Promise<SendOutcome>((done) => transport.send(transport.prepare(request), done));
      expect([bytes, outcome]).toEqual([bytes, { ok: true }]);
      expect(server.received.at(-1)?.tensors.equals(raw)).toBe(true);
    }
    expect(server.received).toHaveLength(sizes.length);
  });
});
