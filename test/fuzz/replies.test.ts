import { createServer } from 'node:http';
import fc from 'fast-check';
import type protobuf from 'protobufjs';
import { afterAll, describe, expect, it } from 'vitest';
import { nestsDeeperThan } from '../../src/base/json.ts';
import { generatedStream } from '../../src/loadgen/input-data/generated-stream.ts';
import { modelTensors } from '../../src/loadgen/input-data/tensor-spec.ts';
import { prepareInputs } from '../../src/loadgen/inputs.ts';
import { replyCheck } from '../../src/loadgen/reply-check.ts';
import { errorOfBody, readInferReply } from '../../src/loadgen/transports/infer-http.ts';
import { decodeInferReply } from '../../src/loadgen/transports/infer-message.ts';
import { readStreamReply } from '../../src/loadgen/transports/stream-reply.ts';
import type { InferRequest, OutputTensor } from '../../src/loadgen/types.ts';
import { validateConfig } from '../../src/triton/config/validation.ts';
import { clientOver } from '../../src/triton/control/client.ts';
import { connectHttp } from '../../src/triton/control/connect.ts';
import type { TritonClient } from '../../src/triton/types.ts';
import { decodeWithUnknown, messageType, serviceMethod, unknownFieldsOf } from '../../src/triton/wire/proto.ts';
import { type Wire, WireFault } from '../../src/triton/wire/wire.ts';
import {
  damagedBytes,
  damagedText,
  FUZZ_TIMEOUT_MS,
  fuzz,
  fuzzAsync,
  hostileJson,
  nested,
  refusedOr,
  refusedOrAsync,
} from '../support/fuzz.ts';
import { listen } from '../support/misbehaving-server.ts';

/** What a server may answer that is coded, whatever it sends. */
const codes = [
  ...(['SERVER_UNREACHABLE', 'SERVER_FAILED', 'SERVER_TIMEOUT', 'MODEL_UNKNOWN', 'MODEL_UNREADY'] as const),
  ...(['CONTROL_DISABLED', 'LOAD_REFUSED', 'CONFIG_INVALID', 'UNSUPPORTED'] as const),
];

/** What the client asks; first what the replies below answer, in their order. */
const questions: readonly ((client: TritonClient) => Promise<unknown>)[] = [
  (client) => client.serverMetadata(),
  (client) => client.modelMetadata('m'),
  (client) => client.index(),
  (client) => client.modelConfig('m').then(validateConfig),
  (client) => client.statistics('m'),
  (client) => client.sharedMemoryRegions(),
  (client) => client.cudaMemoryRegions(),
  (client) => client.traceSettings(),
  (client) => client.load('m', { name: 'm' }),
  (client) => client.modelReady('m'),
];

const duration = { count: 2, ns: '9007199254740993' };
const replies: readonly (readonly [method: string, message: object])[] = [
  ['ServerMetadata', { name: 'triton', version: '2', extensions: ['a', 'b'] }],
  ['ModelMetadata', { name: 'm', versions: ['1'], inputs: [{ name: 'I', datatype: 'FP32', shape: ['-1', '4'] }] }],
  ['RepositoryIndex', { models: [{ name: 'm', version: '1', state: 'READY', reason: '' }] }],
  ['ModelConfig', { config: { name: 'm', max_batch_size: 8, parameters: { k: { string_value: 'v' } } } }],
  ['ModelStatistics', { model_stats: [{ name: 'm', version: '1', inference_stats: { success: duration } }] }],
  ['SystemSharedMemoryStatus', { regions: { r: { name: 'r', key: '/k', offset: '1', byte_size: '2' } } }],
  ['CudaSharedMemoryStatus', { regions: { r: { name: 'r', device_id: '1', byte_size: '2' } } }],
  ['TraceSetting', { settings: { trace_level: { value: ['OFF'] }, __proto: { value: [] } } }],
];
const httpTexts = replies.map(([, message]) =>
  JSON.stringify(Object.values(message).length === 1 ? Object.values(message)[0] : message),
);

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
    const text = fc.oneof(damagedText(httpTexts, ['{', '[', '"error":', '1e999', ',"x":[]']), hostileJson(keys));
    await fuzzAsync(fc.tuple(status, text, question), async ([code, body, ask]) => {
      answer = { status: code, text: body };
      await refusedOrAsync(() => ask(client), ...codes);
    });
  });

  it.each([
    ['nested deeper than a stack', nested('[', '', ']')],
    ['nested a thousand deep', `{"name":"m","x":${nested('[', '', ']', 1000)}}`],
    ['a figure of lists', `{"model_stats":[{"inference_count":${nested('[', '1', ']', 90)}}]}`],
  ])('%s are refused with a code, or read', async (_, text) => {
    answer = { status: 200, text };
    for (const ask of questions) await refusedOrAsync(() => ask(client), ...codes);
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
  const encoded = replies.map(([method, message]) => {
    const { responseType } = serviceMethod(method);
    return responseType.encode(responseType.fromObject(message)).finish();
  });

  it('are read or refused with a code', { timeout: FUZZ_TIMEOUT_MS }, async () => {
    const which = fc.nat(replies.length - 1);
    await fuzzAsync(fc.tuple(which, damagedBytes(encoded)), async ([index, bytes]) => {
      const { responseType } = serviceMethod(replies[index]?.[0] as string);
      const client = clientOver(wireOf(responseType, bytes), { defaultTimeoutMs: 1, loadTimeoutMs: 1 });
      await refusedOrAsync(async () => questions[index]?.(client), ...codes);
    });
  });

  /** As the gRPC library does it: bytes that are no such message are the server's fault. */
  function wireOf(type: protobuf.Type, bytes: Buffer): Wire {
    return {
      ...{ protocol: 'grpc', url: 'host:1', close: async () => undefined },
      async call() {
        let message: protobuf.Message;
        try {
          message = decodeWithUnknown(type, bytes);
        } catch (error) {
          throw new WireFault('failed', 'response message parsing error', { cause: error });
        }
        unknownFieldsOf(message);
        return type.toObject(message, { enums: String, longs: String, bytes: String });
      },
    };
  }

  it('nested in groups deeper than a stack are no message', () => {
    const groups = Buffer.alloc(1_000_000, 0x0b);
    const type = messageType('ModelInferResponse');
    expect(() => decodeWithUnknown(type, groups)).toThrow();
    expect(() => decodeInferReply(groups)).toThrow();
    expect(() => readStreamReply(groups)).toThrow();
  });
});

describe('infer replies of a hostile server', () => {
  const type = messageType('ModelInferResponse');
  const outputs = [
    { name: 'O', datatype: 'FP32', shape: [1, 2] },
    { name: 'P', datatype: 'BYTES', shape: [1] },
  ];
  const raws = [Buffer.from(new Float32Array([1, 2]).buffer), Buffer.from('\x01\0\0\0a')];
  const message = Buffer.from(
    type.encode(type.fromObject({ model_name: 'm', outputs, raw_output_contents: raws })).finish(),
  );
  const expected = outputs.map((output, index) => ({ ...output, raw: raws[index] as Buffer }));
  const request = { expected } as unknown as InferRequest;
  const check = replyCheck(0.1);
  /** What comes out of a reply lies within it, and can be compared. */
  const look = (read: () => readonly OutputTensor[], bytes: number): void => {
    let tensors: readonly OutputTensor[];
    try {
      tensors = read();
    } catch (error) {
      expect(error).toBeInstanceOf(Error);
      return;
    }
    expect(tensors.reduce((sum, { raw }) => sum + raw.length, 0)).toBeLessThanOrEqual(bytes);
    const verdict = check(request, tensors);
    if (verdict && !verdict.ok) expect(verdict.message).not.toBe('');
  };

  it('in protobuf are read within their bytes, or are none', { timeout: FUZZ_TIMEOUT_MS }, () => {
    fuzz(damagedBytes([message]), (bytes) => look(() => decodeInferReply(bytes), bytes.length));
    expect(decodeInferReply(message)).toMatchObject(outputs);
  });

  it('of a stream are read or are none', { timeout: FUZZ_TIMEOUT_MS }, () => {
    const stream = messageType('ModelStreamInferResponse');
    const final = { triton_final_response: { bool_param: true } };
    const all = [
      { error_message: 'no', infer_response: {} },
      { infer_response: { model_name: 'm', parameters: final, outputs } },
    ].map((each) => stream.encode(stream.fromObject(each)).finish());
    fuzz(damagedBytes(all), (bytes) => {
      let reply: ReturnType<typeof readStreamReply>;
      try {
        reply = readStreamReply(bytes);
      } catch (error) {
        expect(error).toBeInstanceOf(Error);
        return;
      }
      expect(reply.error.length).toBeLessThanOrEqual(bytes.length);
    });
    expect(readStreamReply(all[1] as Uint8Array)).toEqual({ error: '', isFinal: true, hasOutputs: true });
  });

  it('in JSON are read within their bytes, or are none', { timeout: FUZZ_TIMEOUT_MS }, () => {
    const json = JSON.stringify({
      outputs: outputs.map((output, index) => ({ ...output, parameters: { binary_data_size: raws[index]?.length } })),
    });
    const whole = Buffer.concat([Buffer.from(json), ...raws]);
    const jsonBytes = fc.constantFrom(
      json.length,
      json.length,
      json.length + 1,
      0,
      -1,
      1.5,
      Number.NaN,
      2 ** 31,
      Infinity,
    );
    fuzz(fc.tuple(damagedBytes([whole]), jsonBytes), ([bytes, length]) =>
      look(() => readInferReply(bytes, length), bytes.length),
    );
    const keys = ['outputs', 'name', 'datatype', 'shape', 'parameters', 'binary_data_size', 'error'];
    fuzz(hostileJson(keys), (text) => {
      look(() => readInferReply(Buffer.from(`{"outputs":[${text}]}`), Number.NaN), 0);
      expect(typeof errorOfBody(text)).toBe('string');
    });
    expect(readInferReply(whole, json.length)).toMatchObject(outputs);
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
