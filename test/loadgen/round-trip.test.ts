import { createServer, type Server } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { measureRoundTripMs } from '#loadgen/transports/round-trip.ts';

describe('the round trip to a server', () => {
  let server: Server | undefined;
  afterEach(() => new Promise((done) => (server ? server.close(done) : done(undefined))));

  const listen = async (): Promise<{ readonly port: number; readonly connections: () => number }> => {
    let connections = 0;
    const opened = createServer((socket) => {
      connections++;
      socket.on('error', () => undefined);
    });
    server = opened;
    await new Promise<void>((done) => opened.listen(0, '127.0.0.1', done));
    const address = opened.address();
    return { port: typeof address === 'object' && address ? address.port : 0, connections: () => connections };
  };

  it('is the time until a connection is open, for addresses and URLs', async () => {
    const { port, connections } = await listen();
    expect(await measureRoundTripMs(`127.0.0.1:${port}`)).toBeGreaterThan(0);
    expect(await measureRoundTripMs(`http://127.0.0.1:${port}/v1`)).toBeGreaterThan(0);
    await expect.poll(connections).toBe(10);
  });

  it('is unknown where nothing answers, and for what is no address', async () => {
    const { port } = await listen();
    await new Promise((done) => server?.close(done));
    server = undefined;
    expect(await measureRoundTripMs(`127.0.0.1:${port}`)).toBeUndefined();
    expect(await measureRoundTripMs('offline')).toBeUndefined();
    expect(await measureRoundTripMs('')).toBeUndefined();
  });
});
