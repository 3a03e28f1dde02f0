import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type handleUnaryCall, type MetadataValue, Server, ServerCredentials } from '@grpc/grpc-js';
import { onTestFinished } from 'vitest';
import { serviceMethod } from '#triton/wire/proto.ts';

/** A server that answers with the tensors that it was sent, and what it saw of the last request. */
export interface EchoServer {
  readonly url: string;
  readonly seen: { headers: IncomingHttpHeaders | { [name: string]: MetadataValue }; parameters: unknown };
}

/** Inputs come back as outputs of the same names, each byte plus `change`. Ends with the test. */
export async function grpcEcho(change = 0): Promise<EchoServer> {
  const { path, requestType, responseType } = serviceMethod('ModelInfer');
  const seen: EchoServer['seen'] = { headers: {}, parameters: undefined };
  const server = new Server();
  const infer: handleUnaryCall<Buffer, Buffer> = (call, reply) => {
    const request = requestType.toObject(requestType.decode(call.request), { longs: Number });
    seen.headers = call.metadata.getMap();
    seen.parameters = request.parameters;
    const answer = { outputs: request.inputs, raw_output_contents: request.raw_input_contents.map(changedBy(change)) };
    reply(null, Buffer.from(responseType.encode(responseType.fromObject(answer)).finish()));
  };
  const asIs = (bytes: Buffer): Buffer => bytes;
  const serialize = {
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  };
  server.addService(
    { ModelInfer: { path, requestStream: false, responseStream: false, ...serialize } },
    { ModelInfer: infer },
  );
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  onTestFinished(() => server.forceShutdown());
  return { url: `127.0.0.1:${port}`, seen };
}

/** As `grpcEcho`, in KServe's HTTP. */
export async function httpEcho(change = 0): Promise<EchoServer> {
  const seen: EchoServer['seen'] = { headers: {}, parameters: undefined };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      const jsonBytes = Number(request.headers['inference-header-content-length']);
      const { inputs, parameters } = JSON.parse(body.toString('utf8', 0, jsonBytes));
      seen.headers = request.headers;
      seen.parameters = parameters;
      const json = Buffer.from(JSON.stringify({ outputs: inputs }));
      response.writeHead(200, { 'Inference-Header-Content-Length': json.length });
      response.end(Buffer.concat([json, changedBy(change)(body.subarray(jsonBytes))]));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

const changedBy =
  (change: number) =>
  (bytes: Uint8Array): Buffer =>
    Buffer.from(bytes.map((byte) => byte + change));
