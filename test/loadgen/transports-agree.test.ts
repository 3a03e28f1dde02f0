import { type handleUnaryCall, Server, ServerCredentials } from '@grpc/grpc-js';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openGrpcJs } from '#loadgen/transports/grpc-js.ts';
import { openGrpcLean } from '#loadgen/transports/grpc-lean.ts';
import type { InferRequest, SendOutcome, Transport } from '#loadgen/types.ts';
import { inferResponse } from '../support/infer-servers.ts';
import { sendMany } from '../support/transport-suite.ts';

/**
 * A server of grpc-js itself: it notes the bytes of each message and answers with the status it is
 * told.
 */
const received: Buffer[] = [];
let status: { code: number; details: string } | undefined;
const server = new Server({ 'grpc.max_receive_message_length': -1 });
const transports: Transport[] = [];

beforeAll(async () => {
  const asIs = (bytes: Buffer): Buffer => bytes;
  const infer: handleUnaryCall<Buffer, Buffer> = (call, reply) => {
    received.push(call.request);
    if (status) reply(status);
    else reply(null, inferResponse(32));
  };
  server.addService(
    {
      ModelInfer: {
        path: '/inference.GRPCInferenceService/ModelInfer',
        requestStream: false,
        responseStream: false,
        requestSerialize: asIs,
        requestDeserialize: asIs,
        responseSerialize: asIs,
        responseDeserialize: asIs,
      },
    },
    { ModelInfer: infer },
  );
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  const options = { url: `localhost:${port}`, timeoutMs: 10_000 };
  transports.push(openGrpcJs(options), openGrpcLean(options));
});

afterAll(async () => {
  for (const transport of transports) await transport.close();
  server.forceShutdown();
});

/** The outcome over each transport, and what the server saw of each. */
async function overBoth(request: InferRequest): Promise<{ outcomes: SendOutcome[]; messages: Buffer[] }> {
  received.length = 0;
  const outcomes: SendOutcome[] = [];
  for (const transport of transports) outcomes.push(...(await sendMany(transport, request)));
  return { outcomes, messages: [...received] };
}

const anyRequest: fc.Arbitrary<InferRequest> = fc.record({
  model: fc.string({ unit: 'grapheme', maxLength: 40 }),
  version: fc.constantFrom('', '1', '17'),
  batch: fc.constant(1),
  inputs: fc.array(
    fc.record({
      name: fc.string({ unit: 'grapheme', maxLength: 20 }),
      datatype: fc.constantFrom('FP32', 'INT64', 'BYTES', 'UINT8'),
      shape: fc.array(fc.integer({ min: 0, max: 2 ** 40 }), { maxLength: 4 }),
      raw: fc.uint8Array({ maxLength: 40_000 }),
    }),
    { maxLength: 4 },
  ),
});

describe('our own gRPC client and grpc-js', () => {
  it('show the server the same bytes', async () => {
    await fc.assert(
      fc.asyncProperty(anyRequest, async (request) => {
        const { outcomes, messages } = await overBoth(request);
        expect(outcomes).toEqual([{ ok: true }, { ok: true }]);
        expect(messages.length).toBe(2);
        expect(messages[0]?.equals(messages[1] as Buffer)).toBe(true);
      }),
      { numRuns: 40 },
    );
  });

  it('report the same of every status', async () => {
    const request = { model: 'm', version: '', batch: 1, inputs: [] };
    const anyStatus = fc.record({
      code: fc.integer({ min: 1, max: 20 }),
      details: fc.string({ unit: 'grapheme', maxLength: 60 }),
    });
    try {
      await fc.assert(
        fc.asyncProperty(anyStatus, async (next) => {
          status = next;
          const { outcomes } = await overBoth(request);
          expect(outcomes[1]).toEqual(outcomes[0]);
          expect(outcomes[1]).toMatchObject({ ok: false, kind: 'status' });
        }),
        { numRuns: 150 },
      );
    } finally {
      status = undefined;
    }
  });
});
