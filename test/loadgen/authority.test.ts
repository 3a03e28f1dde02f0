import { createServer as createHttp1Server } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import type { AddressInfo, Server, Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openGrpcJs } from '#loadgen/transports/grpc-js.ts';
import { openGrpcLean } from '#loadgen/transports/grpc-lean.ts';
import { openGrpcStream } from '#loadgen/transports/grpc-stream.ts';
import { openHttpLean } from '#loadgen/transports/http-lean.ts';
import { openUndici } from '#loadgen/transports/undici.ts';
import type { InferRequest, Transport, TransportOptions } from '#loadgen/types.ts';
import { connectGrpc, connectHttp } from '#triton/control/connect.ts';
import { sendMany } from '../support/transport-suite.ts';

/** A gateway that has no service of the name in a request, and remembers the name. */
interface Gateway {
  readonly url: string;
  readonly authorities: (string | undefined)[];
}

async function listening(server: Server, authorities: (string | undefined)[]): Promise<Gateway> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `127.0.0.1:${(server.address() as AddressInfo).port}`, authorities };
}

function startGrpcGateway(): Promise<Gateway> {
  const authorities: (string | undefined)[] = [];
  const server = createHttp2Server((request, response) => {
    authorities.push(request.authority);
    response.writeHead(200, { 'content-type': 'application/grpc', 'grpc-status': '5' }).end();
  });
  return listening(server, authorities);
}

function startHttpGateway(): Promise<Gateway> {
  const authorities: (string | undefined)[] = [];
  const server = createHttp1Server((request, response) => {
    authorities.push(request.headers.host);
    request.resume();
    response.writeHead(404).end();
  });
  return listening(server, authorities);
}

const inputs = [{ name: 'A', datatype: 'UINT8', shape: [1], raw: Uint8Array.of(1) }];
const request: InferRequest = { model: 'm', version: '', batch: 1, inputs };
const headers = [{ name: 'host', value: 'm.ns.example.com' }];

describe('the name of a service behind a gateway', () => {
  it.each([
    ['grpc-js', openGrpcJs, startGrpcGateway],
    ['our gRPC', openGrpcLean, startGrpcGateway],
    ['a gRPC stream', openGrpcStream, startGrpcGateway],
    ['undici', openUndici, startHttpGateway],
    ['our HTTP', openHttpLean, startHttpGateway],
  ] as const)('is in every request: %s', async (_, open, startGateway) => {
    const gateway = await startGateway();
    const options = { url: gateway.url, timeoutMs: 5000, headers };
    const transport = (open as (options: TransportOptions) => Transport)(options);
    await sendMany(transport, request, 2);
    await transport.close();
    expect(gateway.authorities).toEqual(['m.ns.example.com', 'm.ns.example.com']);
  });

  it.each([
    ['gRPC', connectGrpc, startGrpcGateway],
    ['HTTP', connectHttp, startHttpGateway],
  ] as const)('is in every control call: %s', async (_, connect, startGateway) => {
    const gateway = await startGateway();
    const client = connect(gateway.url, { headers });
    await expect(client.modelConfig('m')).rejects.toThrow();
    await client.close();
    expect(new Set(gateway.authorities)).toEqual(new Set(['m.ns.example.com']));
  });
});
