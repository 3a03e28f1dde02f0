import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server, ServerCredentials, status } from '@grpc/grpc-js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connectGrpc, connectHttp } from '#triton/control/connect.ts';
import type { TritonClient } from '#triton/types.ts';
import { messageType, serviceMethod } from '#triton/wire/proto.ts';
import { type Misbehaviour, refusingUrl, startMisbehaving } from '../support/misbehaving-server.ts';

const connections = { grpc: connectGrpc, http: connectHttp };

function clientFor(protocol: 'grpc' | 'http', url: string, defaultTimeoutMs = 2_000): TritonClient {
  const client = connections[protocol](url, { defaultTimeoutMs, loadTimeoutMs: defaultTimeoutMs });
  onTestFinished(() => client.close());
  return client;
}

async function misbehaving(kind: Misbehaviour): Promise<string> {
  const server = await startMisbehaving(kind);
  onTestFinished(() => server.close());
  return server.url;
}

describe.each(['grpc', 'http'] as const)('a %s client', (protocol) => {
  it('says when nothing listens', async () => {
    const url = await refusingUrl();
    const client = clientFor(protocol, url);
    const unreachable = { code: 'SERVER_UNREACHABLE', message: expect.stringContaining(url) };
    await expect(client.live()).rejects.toMatchObject(unreachable);
    await expect(client.load('m', { name: 'm' })).rejects.toMatchObject(unreachable);
    await expect(client.modelReady('m')).rejects.toMatchObject(unreachable);
  });

  it('says when the host has no address', async () => {
    const client = clientFor(protocol, 'no-such-host.invalid:8001');
    await expect(client.live()).rejects.toMatchObject({ code: 'SERVER_UNREACHABLE' });
  });

  it.each(['reset', 'close', 'half-close', 'garbage'] as const)(
    'does not hang on a server that answers with %s',
    async (kind) => {
      const client = clientFor(protocol, await misbehaving(kind));
      await expect(client.live()).rejects.toMatchObject({ code: 'SERVER_UNREACHABLE' });
      await expect(client.load('m')).rejects.toMatchObject({ code: 'SERVER_UNREACHABLE' });
    },
  );

  it('gives up on a silent server, at the deadline of the call or of the client', async () => {
    const client = clientFor(protocol, await misbehaving('silent'), 50);
    await expect(client.serverMetadata()).rejects.toMatchObject({ code: 'SERVER_TIMEOUT' });
    const load = client.load('m', undefined, { timeoutMs: 20 });
    await expect(load).rejects.toMatchObject({ code: 'SERVER_TIMEOUT', message: expect.stringContaining('20 ms') });
  });

  it('lets go of a silent server when it is interrupted or closed', async () => {
    const client = clientFor(protocol, await misbehaving('silent'));
    const abort = new AbortController();
    const interrupted = expect(client.live({ signal: abort.signal })).rejects.toMatchObject({ code: 'INTERRUPTED' });
    const closed = expect(client.live()).rejects.toMatchObject({ code: 'SERVER_UNREACHABLE' });
    setImmediate(() => abort.abort());
    await interrupted;
    await client.close();
    await closed;
  });

  it.each([
    '',
    'localhost',
    'localhost:',
    'localhost:0',
    'localhost:99999',
    'http://localhost:8000',
    'a b:80',
    '::1:8000',
  ])('does not take %j for an address', (url) => {
    expect(() => connections[protocol](url)).toThrow(expect.objectContaining({ code: 'USAGE' }));
  });

  it('takes an IPv6 address in brackets', async () => {
    const client = clientFor(protocol, '[::1]:9');
    await expect(client.live()).rejects.toMatchObject({ code: 'SERVER_UNREACHABLE' });
  });
});

describe('an HTTP client', () => {
  async function answering(code: number, body: string): Promise<TritonClient> {
    const server = createServer((_, response) => {
      response.writeHead(code).end(body);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => {
      server.close();
    });
    return clientFor('http', `127.0.0.1:${(server.address() as AddressInfo).port}`);
  }

  it.each([
    [404, '<html>nginx</html>', 'SERVER_UNREACHABLE'],
    [405, '{"error":"Method Not Allowed"}', 'SERVER_UNREACHABLE'],
    [502, '<html>bad gateway</html>', 'SERVER_UNREACHABLE'],
    [500, '<html>internal error</html>', 'SERVER_FAILED'],
    [200, 'ready', 'SERVER_UNREACHABLE'],
    [200, '[]', 'SERVER_UNREACHABLE'],
    [200, '', 'SERVER_UNREACHABLE'],
    [403, '{"error":"This API is restricted, expecting header \'x\'"}', 'SERVER_FAILED'],
    [503, '{"error":"Server not ready"}', 'SERVER_UNREACHABLE'],
    [400, '{"error":"Server not ready"}', 'SERVER_UNREACHABLE'],
    [503, 'no healthy upstream', 'SERVER_UNREACHABLE'],
    [503, '{"error":"Exceeds maximum queue size"}', 'SERVER_FAILED'],
  ])('understands status %i with %j', async (code, body, expected) => {
    const client = await answering(code, body);
    await expect(client.serverMetadata()).rejects.toMatchObject({ code: expected });
  });

  it('keeps config fields that it does not know, and integers that a number cannot hold', async () => {
    const client = await answering(200, '{"name":"m","newer":{"deep":[1]},"newest":18446744073709551615}');
    expect(await client.modelConfig('m')).toEqual({
      name: 'm',
      newer: { deep: [1] },
      newest: '18446744073709551615',
    });
  });

  it('writes the model name as one part of the path', async () => {
    const paths: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      paths.push(request.url);
      response.end('{}');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => {
      server.close();
    });
    await clientFor('http', `127.0.0.1:${(server.address() as AddressInfo).port}`).modelMetadata('../a b?');
    expect(paths).toEqual(['/v2/models/..%2Fa%20b%3F']);
  });
});

describe('a gRPC client', () => {
  /** A server whose ModelConfig and RepositoryModelLoad answer as told. */
  async function serving(reply: Buffer | { code: status; details: string }): Promise<TritonClient> {
    const server = new Server();
    const definition = (name: string) => ({
      path: serviceMethod(name).path,
      requestStream: false,
      responseStream: false,
      requestSerialize: (bytes: Buffer) => bytes,
      requestDeserialize: (bytes: Buffer) => bytes,
      responseSerialize: (bytes: Buffer) => bytes,
      responseDeserialize: (bytes: Buffer) => bytes,
    });
    const answer = (_: unknown, done: (error: object | null, bytes?: Buffer) => void): void => {
      if (Buffer.isBuffer(reply)) done(null, reply);
      else done(reply);
    };
    const names = ['ModelConfig', 'RepositoryModelLoad', 'RepositoryIndex'];
    server.addService(
      Object.fromEntries(names.map((name) => [name, definition(name)])),
      Object.fromEntries(names.map((name) => [name, answer])),
    );
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      );
    });
    onTestFinished(() => server.forceShutdown());
    return clientFor('grpc', `127.0.0.1:${port}`);
  }

  it('refuses a config with fields that it cannot name, because a load would lose them', async () => {
    const response = messageType('ModelConfigResponse');
    const group = messageType('ModelInstanceGroup')
      .encode({ count: 2 })
      .uint32((99 << 3) | 0)
      .uint32(1)
      .finish();
    const config = messageType('ModelConfig')
      .encode({ name: 'm' })
      .uint32((7 << 3) | 2)
      .bytes(group)
      .uint32((200 << 3) | 2)
      .string('newer')
      .finish();
    const bytes = response
      .encode({})
      .uint32((1 << 3) | 2)
      .bytes(config)
      .finish();
    const client = await serving(Buffer.from(bytes));
    await expect(client.modelConfig('m')).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringContaining('config.200, config.instance_group.99'),
      hint: expect.stringContaining('-i http'),
    });
  });

  it.each([
    [status.UNIMPLEMENTED, 'not built in', 'SERVER_FAILED'],
    [status.UNAVAILABLE, 'Server exiting', 'SERVER_FAILED'],
    [status.UNAVAILABLE, "This protocol is restricted, expecting header 'x'", 'SERVER_FAILED'],
    [status.UNAVAILABLE, 'explicit model load / unload is not allowed if polling is enabled', 'CONTROL_DISABLED'],
    [status.INVALID_ARGUMENT, 'load failed: CUDA out of memory', 'LOAD_REFUSED'],
    [status.INTERNAL, "failed to load 'm', failed to poll from model repository", 'LOAD_REFUSED'],
    [status.UNKNOWN, 'no idea', 'SERVER_FAILED'],
  ])('understands status %i of a load with %j', async (code, details, expected) => {
    const client = await serving({ code, details });
    await expect(client.load('m')).rejects.toMatchObject({ code: expected, message: expect.stringContaining(details) });
  });

  it('says when a reply is no message of its type', async () => {
    const client = await serving(Buffer.from([0xff, 0xff, 0xff]));
    await expect(client.modelConfig('m')).rejects.toMatchObject({ code: 'SERVER_UNREACHABLE' });
  });
});
