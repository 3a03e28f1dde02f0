import { request } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Faults } from '#emulator/faults.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';
import { fp32Input, grpcInferClient, httpInferClient, type InferClient } from '../support/infer-clients.ts';

const protocols = [
  { protocol: 'grpc', ok: 0, invalid: 3, notFound: 5, unavailable: 14 },
  { protocol: 'http', ok: 200, invalid: 400, notFound: 404, unavailable: 503 },
] as const;

describe.each(protocols)('infer over $protocol', ({ protocol, ok, invalid, notFound, unavailable }) => {
  async function start(faults: Faults = {}, config: object = {}): Promise<InferClient> {
    const { grpcUrl, httpUrl } = await emulatorForTest({ profile: smallProfile({ config }), faults });
    const client = protocol === 'grpc' ? grpcInferClient(grpcUrl) : httpInferClient(httpUrl);
    onTestFinished(() => client.close());
    return client;
  }

  it('answers with the output shapes, at the batch of the request', async () => {
    const client = await start();
    for (const batch of [1, 5, 8]) {
      const { status, outputs } = await client.infer('m', [fp32Input([batch, 4])]);
      expect(status).toBe(ok);
      expect(outputs).toMatchObject([{ name: 'OUT', datatype: 'FP32', shape: [batch, 4] }]);
    }
  });

  it('takes no batch dimension when the model has none', async () => {
    const client = await start({}, { max_batch_size: 0 });
    expect((await client.infer('m', [fp32Input([4])])).outputs).toMatchObject([{ shape: [4] }]);
    expect((await client.infer('m', [fp32Input([1, 4])])).status).toBe(invalid);
  });

  it.each([
    ['too large a batch', [fp32Input([9, 4])], "inference request batch-size must be <= 8 for 'm'"],
    ['a wrong shape', [fp32Input([1, 5])], "unexpected shape for input 'IN' for model 'm'. Expected [-1,4], got [1,5]"],
    [
      'a wrong type',
      [{ ...fp32Input([1, 4]), datatype: 'INT32' }],
      "data-type is 'INT32', but model 'm' expects 'FP32'",
    ],
    ['an unknown input', [fp32Input([1, 4], 'X')], "unexpected inference input 'X' for model 'm'"],
    ['no input', [], "expected 1 inputs but got 0 inputs for model 'm'"],
    ['a tensor that is too short', [{ ...fp32Input([2, 4]), raw: Buffer.alloc(16) }], /unexpected (total byte )?size/],
  ])('refuses %s', async (_, inputs, words) => {
    const answer = await (await start()).infer('m', inputs);
    expect(answer.status).toBe(invalid);
    if (typeof words === 'string') expect(answer.message).toContain(words);
    else expect(answer.message).toMatch(words);
  });

  it('knows no other model', async () => {
    const answer = await (await start()).infer('other', [fp32Input([1, 4])]);
    expect(answer).toMatchObject({ status: notFound, message: "Request for unknown model: 'other' is not found" });
  });

  it('fails and drops calls on request, and serves again afterwards', async () => {
    const faults: Faults = { failInfer: () => ({ status: 'UNAVAILABLE', message: 'Exceeds maximum queue size' }) };
    const client = await start(faults);
    const call = () => client.infer('m', [fp32Input([1, 4])]);
    expect(await call()).toMatchObject({ status: unavailable, message: 'Exceeds maximum queue size' });
    delete faults.failInfer;
    faults.dropConnection = () => true;
    expect((await call()).status).not.toBe(ok);
    delete faults.dropConnection;
    await expect.poll(async () => (await call()).status).toBe(ok);
  });
});

describe('infer over HTTP with JSON tensors', () => {
  async function post(body: object): Promise<unknown> {
    const { httpUrl } = await emulatorForTest({ profile: smallProfile() });
    const response = await request(`http://${httpUrl}/v2/models/m/versions/1/infer`, {
      method: 'POST',
      body: JSON.stringify(body),
    });
    return response.body.json();
  }

  it('gives values as JSON, and the id back', async () => {
    const input = {
      name: 'IN',
      datatype: 'FP32',
      shape: [2, 4],
      data: [
        [1, 2, 3, 4],
        [5, 6, 7, 8],
      ],
    };
    expect(await post({ id: 'r1', inputs: [input], outputs: [{ name: 'OUT' }] })).toEqual({
      id: 'r1',
      model_name: 'm',
      model_version: '1',
      outputs: [{ name: 'OUT', datatype: 'FP32', shape: [2, 4], data: [0, 0, 0, 0, 0, 0, 0, 0] }],
    });
  });

  it('refuses too few values, an unknown output, and a body without inputs', async () => {
    const input = { name: 'IN', datatype: 'FP32', shape: [1, 4], data: [1, 2, 3] };
    expect(await post({ inputs: [input] })).toEqual({
      error: "unexpected number of elements 3 for input 'IN', expecting 4",
    });
    const full = { ...input, data: [1, 2, 3, 4] };
    expect(await post({ inputs: [full], outputs: [{ name: 'X' }] })).toEqual({
      error: "[request id: <id_unknown>] unexpected inference output 'X' for model 'm'",
    });
    expect(await post({})).toEqual({ error: expect.stringContaining("'inputs'") });
  });
});
