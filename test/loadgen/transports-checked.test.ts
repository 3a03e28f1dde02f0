import { describe, expect, it, onTestFinished } from 'vitest';
import { replyCheck } from '#loadgen/reply-check.ts';
import { openGrpcJs } from '#loadgen/transports/grpc-js.ts';
import { openGrpcLean } from '#loadgen/transports/grpc-lean.ts';
import { openHttpLean } from '#loadgen/transports/http-lean.ts';
import { openTransport } from '#loadgen/transports/open.ts';
import { openUndici } from '#loadgen/transports/undici.ts';
import type { InferRequest, SendOutcome, Transport, TransportOptions } from '#loadgen/types.ts';
import { grpcEcho, httpEcho } from '../support/echo-servers.ts';
import { startGrpcServer, startHttpServer } from '../support/infer-servers.ts';
import { sendMany } from '../support/transport-suite.ts';

const raw = Uint8Array.of(1, 2, 3, 4);
const inputs = ['A', 'B'].map((name) => ({ name, datatype: 'UINT8', shape: [4], raw }));
const request: InferRequest = { model: 'm', version: '', batch: 1, inputs };
const expecting = (bytes: Uint8Array): InferRequest => ({
  ...request,
  expected: [[{ name: 'B', datatype: 'UINT8', raw: bytes }]],
});

function opened(transport: Transport): Transport {
  onTestFinished(() => transport.close());
  return transport;
}

describe.each([
  ['grpc-js', openGrpcJs, grpcEcho],
  ['our gRPC', openGrpcLean, grpcEcho],
  ['undici', openUndici, httpEcho],
  ['our HTTP', openHttpLean, httpEcho],
] as const)('%s', (_, open, echo) => {
  it('sends headers and parameters with every request', async () => {
    const server = await echo();
    const headers = [
      { name: 'authorization', value: 'Bearer a,b=c' },
      { name: 'x-room', value: '7' },
    ];
    const options: TransportOptions = { url: server.url, timeoutMs: 5000, headers };
    const transport = opened((open as (options: TransportOptions) => Transport)(options));
    const parameters = [
      { name: 'urgent', type: 'bool', value: true },
      { name: 'count', type: 'int', value: -(2 ** 40) },
      { name: 'share', type: 'double', value: 0.25 },
      { name: 'who', type: 'string', value: 'é "x"' },
    ] as const;
    const isGrpc = echo === grpcEcho;
    for (let turn = 0; turn < 3; turn++) {
      expect(await sendMany(transport, { ...request, parameters })).toEqual([{ ok: true }]);
      expect(server.seen.headers).toMatchObject({ authorization: 'Bearer a,b=c', 'x-room': '7' });
      expect(server.seen.parameters).toEqual(
        isGrpc
          ? {
              urgent: { bool_param: true },
              count: { int64_param: -(2 ** 40) },
              share: { double_param: 0.25 },
              who: { string_param: 'é "x"' },
            }
          : { urgent: true, count: -(2 ** 40), share: 0.25, who: 'é "x"', binary_data_output: true },
      );
    }
  });
});

describe.each([
  ['grpc', grpcEcho, startGrpcServer],
  ['http', httpEcho, startHttpServer],
] as const)('a transport that checks replies: %s', (protocol, echo, startServer) => {
  const check = replyCheck(0);
  const outcomesAt = async (url: string, sent: InferRequest, count = 1): Promise<SendOutcome[]> =>
    sendMany(opened(openTransport(protocol, { url, timeoutMs: 5000, check })), sent, count);

  it('finds what it expects', async () => {
    const { url } = await echo();
    expect(await outcomesAt(url, expecting(raw), 20)).toEqual(Array(20).fill({ ok: true }));
  });

  it('tells what is not as expected', async () => {
    const { url } = await echo(1);
    const message = "output 'B' differs in 4 of 4 values: value 0 is 2 where 1 was expected";
    expect(await outcomesAt(url, expecting(raw), 3)).toEqual(Array(3).fill({ ok: false, kind: 'mismatch', message }));
    expect(await outcomesAt(url, request)).toEqual([{ ok: true }]);
  });

  it('tells a bad status as one, and a reply that it cannot read as malformed', async () => {
    const server = await startServer();
    onTestFinished(() => server.close());
    server.replyWith({ kind: 'status', code: protocol === 'grpc' ? 5 : 404, message: 'no such model' });
    expect(await outcomesAt(server.url, expecting(raw))).toMatchObject([{ kind: 'status', message: 'no such model' }]);
    server.replyWith({ kind: 'ok' });
    const [outcome] = await outcomesAt(server.url, expecting(raw));
    // Over gRPC it is a good message without outputs; over HTTP zeros where the JSON should be.
    if (protocol === 'grpc')
      expect(outcome).toMatchObject({ kind: 'mismatch', message: "output 'B' is not in the reply" });
    else
      expect(outcome).toMatchObject({ kind: 'malformed', message: expect.stringMatching(/^the reply cannot be read/) });
  });
});
