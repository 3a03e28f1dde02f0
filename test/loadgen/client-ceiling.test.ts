import { describe, expect, it } from 'vitest';
import { clientCeiling } from '../../src/loadgen/client-ceiling.ts';
import { startNullServer } from '../../src/loadgen/null-server.ts';
import { openTransport } from '../../src/loadgen/transports/open.ts';
import type { RequestSet, SendOutcome } from '../../src/loadgen/types.ts';

const setOf = (floats: number): RequestSet => {
  const raw = new Uint8Array(4 * floats);
  const about = { model: 'm', version: '', batch: 1 };
  return { ...about, requests: [{ ...about, inputs: [{ name: 'IN', datatype: 'FP32', shape: [1, floats], raw }] }] };
};

describe.each(['grpc', 'http'] as const)('a server that does nothing, over %s', (protocol) => {
  it('answers requests of any size, many at once on one connection or several', async () => {
    const server = await startNullServer(protocol);
    const transport = openTransport(protocol, { url: server.url, timeoutMs: 10_000 });
    try {
      const outcomes: SendOutcome[] = [];
      for (const floats of [1, 1000, 250_000]) {
        const prepared = transport.prepare(setOf(floats).requests[0] as RequestSet['requests'][number]);
        const sends = Array.from(
          { length: 40 },
          () => new Promise<SendOutcome>((done) => transport.send(prepared, done)),
        );
        outcomes.push(...(await Promise.all(sends)));
      }
      expect(outcomes).toHaveLength(120);
      expect(outcomes.filter((outcome) => !outcome.ok)).toEqual([]);
    } finally {
      await transport.close();
      await server.stop();
    }
  });

  it('gives the rate that this client cannot exceed, lower for requests that cost more', async () => {
    const small = (await clientCeiling(protocol, setOf(16))()) as number;
    const large = (await clientCeiling(protocol, setOf(100_000))()) as number;
    expect(large).toBeGreaterThan(0);
    expect(small).toBeGreaterThan(2 * large);
  });

  it('is measured once', () => {
    const ceiling = clientCeiling(protocol, setOf(16));
    expect(ceiling()).toBe(ceiling());
  });
});
