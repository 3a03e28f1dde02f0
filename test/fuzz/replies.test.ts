import { createServer } from 'node:http';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { nestsDeeperThan } from '#base/json.ts';
import { generatedStream } from '#loadgen/input-data/generated-stream.ts';
import { modelTensors } from '#loadgen/input-data/tensor-spec.ts';
import { prepareInputs } from '#loadgen/inputs.ts';
import { decodeInferReply } from '#loadgen/transports/infer-message.ts';
import { readStreamReply } from '#loadgen/transports/stream-reply.ts';
import { connectHttp } from '#triton/control/connect.ts';
import { decodeWithUnknown, messageType } from '#triton/wire/proto.ts';
import { FUZZ_TIMEOUT_MS, fuzz, fuzzAsync, hostileJson, nested, refusedOr, refusedOrAsync } from '../support/fuzz.ts';
import { listen } from '../support/misbehaving-server.ts';
import { inferHttp, questions, replyCodes } from './parsers/wire.ts';

describe('replies of a hostile server over HTTP', async () => {
  let answer: { status: number; text: string } = { status: 200, text: '' };
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(answer.status, { connection: 'close' }).end(answer.text);
  });
  const port = await listen(server);
  const client = connectHttp(`127.0.0.1:${port}`, { defaultTimeoutMs: 5000, loadTimeoutMs: 5000 });
  afterAll(async () => {
    await client.close();
    server.close();
  });
  const status = fc.constantFrom(200, 200, 200, 400, 404, 500);
  const question = fc.constantFrom(...questions);

  it('are read or refused with a code', { timeout: FUZZ_TIMEOUT_MS }, async () => {
    const keys = [
      'name',
      'version',
      'shape',
      'inputs',
      'model_stats',
      'inference_stats',
      'count',
      'ns',
      'state',
      'error',
      'dims',
    ];
    await fuzzAsync(fc.tuple(status, hostileJson(keys), question), async ([code, body, ask]) => {
      answer = { status: code, text: body };
      await refusedOrAsync(() => ask(client), ...replyCodes);
    });
  });

  it.each([
    ['nested deeper than a stack', nested('[', '', ']')],
    ['nested a thousand deep', `{"name":"m","x":${nested('[', '', ']', 1000)}}`],
    ['a figure of lists', `{"model_stats":[{"inference_count":${nested('[', '1', ']', 90)}}]}`],
  ])('%s are refused with a code, or read', async (_, text) => {
    answer = { status: 200, text };
    for (const ask of questions) await refusedOrAsync(() => ask(client), ...replyCodes);
  });

  it('are read up to the limit of their kind', async () => {
    const long = (bytes: number): void => {
      answer = { status: 200, text: `[{"name":"${'x'.repeat(bytes)}"}]` };
    };
    const refused = (mib: number) => ({
      code: 'SERVER_FAILED',
      message: expect.stringContaining(`longer than ${mib} MiB`),
    });
    long(2 ** 20);
    await expect(client.serverMetadata()).rejects.toMatchObject(refused(1));
    await expect(client.modelConfig('m')).rejects.toMatchObject(refused(1));
    expect(await client.index()).toHaveLength(1);
    long(16 * 2 ** 20);
    await expect(client.statistics('m')).rejects.toMatchObject(refused(16));
    long(64 * 2 ** 20);
    await expect(client.index()).rejects.toMatchObject(refused(64));
  });
});

describe('replies of a hostile server over gRPC', () => {
  it('nested in groups deeper than a stack are no message', () => {
    const groups = Buffer.alloc(1_000_000, 0x0b);
    const type = messageType('ModelInferResponse');
    expect(() => decodeWithUnknown(type, groups)).toThrow();
    expect(() => decodeInferReply(groups)).toThrow();
    expect(() => readStreamReply(groups)).toThrow();
  });
});

describe('infer replies of a hostile server', () => {
  it('of other shapes are read within their bytes, or are none', { timeout: FUZZ_TIMEOUT_MS }, async () => {
    const keys = ['outputs', 'name', 'datatype', 'shape', 'parameters', 'binary_data_size', 'error'];
    await fuzzAsync(
      hostileJson(keys),
      async (text) => void (await inferHttp.read(Buffer.from(`{"outputs":[${text}]}`))),
    );
  });
});

describe('metadata of a hostile server', () => {
  it('gives requests, or is refused', { timeout: FUZZ_TIMEOUT_MS }, () => {
    const dim = fc.constantFrom(-1, 0, 1, 2, 4, -2, -(2 ** 31), 1.5, Number.NaN, Infinity, 2 ** 31, 2 ** 53, 1e300);
    const datatype = fc.constantFrom('FP32', 'BYTES', 'BOOL', 'INT64', 'BF16', '', 'constructor', '__proto__', 'FP128');
    const name = fc.constantFrom('A', 'B', '__proto__', 'constructor', '../../x', '');
    const tensor = fc.record({ name, datatype, shape: fc.array(dim, { maxLength: 4 }) });
    const batch = fc.constantFrom(0, 1, 4, -1, 2 ** 31 - 1);
    fuzz(fc.tuple(fc.array(tensor, { maxLength: 3 }), batch), ([inputs, max_batch_size]) => {
      const metadata = { name: 'm', versions: ['1'], platform: '', inputs, outputs: [] };
      const options = { batch: 1, kind: 'random', seed: 1, stringLength: 2 } as const;
      const set = refusedOr(() => prepareInputs(metadata, { max_batch_size }, options), 'INPUT_INVALID', 'UNSUPPORTED');
      for (const { raw } of set?.requests[0]?.inputs ?? []) expect(raw.length).toBeLessThan(100_000);
    });
    const tensors = modelTensors(
      { name: 'm', versions: [], platform: '', inputs: [{ name: 'A', datatype: 'FP32', shape: [-5] }], outputs: [] },
      {},
    );
    expect(() => generatedStream(tensors, 1, {}, { kind: 'zero', seed: 1 })).toThrow(/-5/);
  });

  it('is JSON that is not too deep', () => {
    const holder: unknown[] = [];
    holder.push(holder);
    expect(nestsDeeperThan(100, holder)).toBe(true);
    expect(nestsDeeperThan(2, { a: [1] })).toBe(false);
    expect(nestsDeeperThan(1, { a: [1] })).toBe(true);
  });
});
