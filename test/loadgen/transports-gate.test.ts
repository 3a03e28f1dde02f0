import { describe, expect, it, onTestFinished } from 'vitest';
import { openTransport } from '#loadgen/transports/open.ts';
import type { SocketGate } from '#loadgen/transports/socket.ts';
import type { InferRequest, SendOutcome } from '#loadgen/types.ts';
import { startGrpcServer, startHttpServer } from '../support/infer-servers.ts';
import { until } from '../support/transport-suite.ts';

const request: InferRequest = {
  model: 'm',
  version: '',
  batch: 1,
  inputs: [{ name: 'IN', datatype: 'UINT8', shape: [1, 1], raw: Uint8Array.of(1) }],
};

function gateTo(address: string, most: number): SocketGate & { readonly open: () => number } {
  let open = 0;
  return {
    addresses: [{ address, family: 4 }],
    take() {
      if (open >= most) return new Error('one too many');
      open++;
      return null;
    },
    release() {
      open--;
    },
    open: () => open,
  };
}

describe.each([
  ['grpc', false],
  ['http', false],
  ['grpc', true],
  ['http', true],
] as const)('a gate of %s (replies checked: %s)', (protocol, isChecked) => {
  const receivedFrom = async (host: string, gate: SocketGate): Promise<number> => {
    const server = await (protocol === 'grpc' ? startGrpcServer() : startHttpServer());
    onTestFinished(() => server.close());
    const url = `${host}:${server.url.split(':').at(-1)}`;
    const check = isChecked ? () => null : undefined;
    const transport = openTransport(protocol, { url, timeoutMs: 2000, gate, check });
    await new Promise((done) => transport.send(transport.prepare(request), done));
    await transport.close();
    return server.received.length;
  };

  it('makes any name stand for its addresses', async () => {
    const gate = gateTo('127.0.0.1', 5);
    expect(await receivedFrom('no-such-name.invalid', gate)).toBe(1);
    await until(() => gate.open() === 0);
  });

  it('lets nothing connect elsewhere', async () => {
    // Nothing listens at the gate's address.
    expect(await receivedFrom('localhost', gateTo('127.9.9.9', 5))).toBe(0);
  });
});

it('a connection to an address that is not of the gate is closed at once', async () => {
  const server = await startHttpServer();
  onTestFinished(() => server.close());
  const transport = openTransport('http', { url: server.url, timeoutMs: 2000, gate: gateTo('127.9.9.9', 5) });
  const outcome = await new Promise((done) => transport.send(transport.prepare(request), done));
  await transport.close();
  expect(outcome).toMatchObject({ ok: false, message: 'it may not connect to 127.0.0.1' });
  expect(server.received).toEqual([]);
});

it('no socket is opened without a place', async () => {
  const server = await startHttpServer();
  onTestFinished(() => server.close());
  const transport = openTransport('http', { url: server.url, timeoutMs: 2000, gate: gateTo('127.0.0.1', 2) });
  const outcomes: SendOutcome[] = [];
  for (let sent = 0; sent < 3; sent++) transport.send(transport.prepare(request), (each) => outcomes.push(each));
  await until(() => outcomes.length === 3);
  await transport.close();
  expect(outcomes.filter(({ ok }) => !ok)).toMatchObject([{ message: 'one too many' }]);
});
