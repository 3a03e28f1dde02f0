import { closeSync, ftruncateSync, openSync, unlinkSync } from 'node:fs';
import { deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/base/json.ts';
import { AnswerCache, type EncodedAnswer } from '../../src/emulator/answer-cache.ts';
import { framed } from '../../src/emulator/grpc-messages.ts';
import { profileSchema } from '../../src/emulator/profile-schema.ts';
import type { ModelConfig } from '../../src/triton/model-config.ts';
import { serviceMethod } from '../../src/triton/proto.ts';
import { type ProcessState, processState } from '../soak/process-state.ts';
import { everyKindProfile } from '../support/emulator.ts';
import {
  damagedBytes,
  damagedText,
  FUZZ_TIMEOUT_MS,
  fuzzAsync,
  hostileJson,
  hostileNames,
  inPieces,
  nested,
} from '../support/fuzz.ts';
import { anyConfig } from '../support/fuzz-config.ts';
import { type FuzzedEmulator, type GrpcEnd, type HttpEnd, openFuzzed } from './emulator-stage.ts';

const kinds = everyKindProfile();
/** One model more: texts of any number, and an input that may be left out. */
const texts = {
  ...kinds.models[1],
  config: {
    ...{ name: 'texts', backend: 'python', max_batch_size: 4 },
    input: [
      { name: 'A', data_type: 'TYPE_STRING', dims: [-1] },
      { name: 'B', data_type: 'TYPE_INT64', dims: [2], optional: true },
    ],
    output: [
      { name: 'T', data_type: 'TYPE_STRING', dims: [-1] },
      { name: 'F', data_type: 'TYPE_BOOL', dims: [3] },
    ],
  },
};
const profile = profileSchema.parse({ ...kinds, models: [...kinds.models, texts] });

const shmKey = `tritune-fuzz-${process.pid}`;
const REGION_BYTES = 8192;
let emulator: FuzzedEmulator;

interface Answer {
  readonly id: string;
  readonly model_name: string;
  readonly outputs: readonly { readonly name: string; readonly datatype: string; readonly shape: readonly number[] }[];
  readonly raw_output_contents: readonly Buffer[];
}

const encode = (method: string, message: object): Buffer => {
  const { requestType } = serviceMethod(method);
  return Buffer.from(requestType.encode(requestType.fromObject(message)).finish());
};
const decode = (method: string, bytes: Uint8Array): JsonObject => {
  const { responseType } = serviceMethod(method);
  return responseType.toObject(responseType.decode(bytes), { longs: Number, enums: String, defaults: true });
};
const ask = async (method: string, message: object): Promise<JsonObject> => {
  const { messages, failure } = await emulator.grpc(method, [encode(method, message)]);
  if (failure) throw failure;
  return decode(method, messages[0] as Uint8Array);
};

const floats = (count: number): Buffer => Buffer.from(new Float32Array(count).fill(1).buffer);
const tensor = (batch: number, more: object = {}) => ({ name: 'IN', datatype: 'FP32', shape: [batch, 4], ...more });
const place = (region: string, bytes: number, offset = 0) => ({
  shared_memory_region: { string_param: region },
  shared_memory_byte_size: { int64_param: bytes },
  shared_memory_offset: { int64_param: offset },
});
const good = { model_name: 'm', id: 'good', inputs: [tensor(2)], raw_input_contents: [floats(8)] };
const goodBytes = encode('ModelInfer', good);

const goodReply = JSON.stringify(['good', [2, 4], 32]);

/** The emulator answers a request that is good: what came before has done no harm. */
async function checkAlive(): Promise<void> {
  const { failure, messages } = await emulator.grpc('ModelInfer', [goodBytes]);
  if (failure) throw failure;
  const {
    id,
    outputs,
    raw_output_contents: raws,
  } = decode('ModelInfer', messages[0] as Uint8Array) as unknown as Answer;
  const reply = JSON.stringify([id, outputs[0]?.shape, raws[0]?.length]);
  if (reply !== goodReply) throw new Error(`a good request is answered with ${reply}`);
}

const unforeseen =
  /Cannot (read|convert|set)|is not (a function|iterable|defined)|Maximum call stack|Invalid (array|string) length|\[object|defect/;

/** Words of a protocol, and none of an error of ours that nobody foresaw. */
function checkWords(message: string): void {
  if (unforeseen.test(message)) throw new Error(`no words of a server: ${message}`);
}

const answered = ({ failure }: GrpcEnd): boolean => {
  if (failure?.message) checkWords(failure.message);
  return failure === null;
};

let before: ProcessState;

beforeAll(async () => {
  const fd = openSync(`/dev/shm/${shmKey}`, 'w', 0o600);
  ftruncateSync(fd, REGION_BYTES);
  closeSync(fd);
  emulator = openFuzzed({ profile, traceFile: '/nowhere/trace' });
  await checkAlive();
  before = await processState();
});

// What all of them leave behind, and what any took for a moment, is bounded.
afterAll(async () => {
  const after = await processState();
  emulator.close();
  unlinkSync(`/dev/shm/${shmKey}`);
  expect(after.heapBytes - before.heapBytes).toBeLessThan(60 * 2 ** 20);
  expect(after.externalBytes - before.externalBytes).toBeLessThan(60 * 2 ** 20);
  expect(after.descriptors - before.descriptors).toBeLessThan(3);
  expect(process.resourceUsage().maxRSS * 1024).toBeLessThan(2 * 2 ** 30);
});

/** The property for all cases; after each of them the emulator is as good as before. `share`: as of `fuzz`. */
const unharmed = <T>(input: fc.Arbitrary<T>, property: (input: T) => Promise<void>, share = 1): Promise<void> =>
  fuzzAsync(
    input,
    async (value) => {
      await property(value);
      await checkAlive();
    },
    share,
  );

const sizes = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 3 });
const anyName = fc.constantFrom('m', 'm', 'seq', 'stream', 'chain', 'texts', 'second', ...hostileNames);
const int64 = fc.constantFrom(0, 1, -1, 2, 4, 8, 16, 32, 4096, 8192, '9223372036854775807', '-9223372036854775808');
const parameter = fc.oneof(
  fc.boolean().map((bool_param) => ({ bool_param })),
  int64.map((int64_param) => ({ int64_param })),
  fc.constantFrom('r', '', 'x', '__proto__', '1').map((string_param) => ({ string_param })),
  fc.double().map((double_param) => ({ double_param })),
);
const parameterNames = [
  ...['shared_memory_region', 'shared_memory_byte_size', 'shared_memory_offset', 'sequence_id', 'sequence_start'],
  ...['sequence_end', 'triton_enable_empty_final_response', '__proto__', 'constructor', 'priority', 'timeout'],
];
const parameters = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  { weight: 1, arbitrary: fc.dictionary(fc.constantFrom(...parameterNames), parameter, { maxKeys: 4 }) },
  {
    weight: 1,
    arbitrary: fc.tuple(int64, int64).map(([bytes, offset]) => place('r', bytes as number, offset as number)),
  },
);
const contents = fc.constantFrom<object>(
  { fp32_contents: [1, 2, 3, 4] },
  { int64_contents: [1, -1] },
  { bytes_contents: [Buffer.from('a'), Buffer.alloc(0)] },
  { bool_contents: [true] },
  {},
);
const anyTensor = fc.record(
  {
    name: fc.constantFrom('IN', 'IN', 'OUT', 'A', 'B', 'T', '', '__proto__'),
    datatype: fc.constantFrom('FP32', 'FP32', 'BYTES', 'INT64', '', 'FP128', 'constructor'),
    shape: fc.oneof(fc.constantFrom([1, 4], [2, 4], [1, 2], [4]), fc.array(int64, { maxLength: 4 })),
    parameters,
    contents,
  },
  { requiredKeys: ['name', 'datatype', 'shape'] },
);
const output = fc.record(
  { name: fc.constantFrom('OUT', 'T', 'F', '', '__proto__'), parameters },
  { requiredKeys: ['name'] },
);
/** Requests of the grammar, with whatever values. */
const anyInfer = fc
  .record(
    {
      model_name: anyName,
      model_version: fc.constantFrom('', '1', '2', '-1'),
      id: fc.constantFrom('', 'x', '\u0000', '%', 'é'.repeat(99)),
      parameters,
      inputs: fc.array(anyTensor, { maxLength: 3 }),
      outputs: fc.array(output, { maxLength: 3 }),
      raw_input_contents: fc.array(fc.constantFrom(floats(4), floats(8), Buffer.alloc(0), Buffer.alloc(7)), {
        maxLength: 3,
      }),
    },
    { requiredKeys: ['model_name', 'inputs'] },
  )
  .map((message) => encode('ModelInfer', message));
const goodInfers = [
  good,
  { model_name: 'm', inputs: [tensor(1, { contents: { fp32_contents: [1, 2, 3, 4] } })], outputs: [{ name: 'OUT' }] },
  {
    model_name: 'm',
    inputs: [tensor(1, { parameters: place('r', 16) })],
    outputs: [{ name: 'OUT', parameters: place('r', 16, 64) }],
  },
  {
    ...{ model_name: 'seq', inputs: [tensor(1)], raw_input_contents: [floats(4)] },
    parameters: {
      sequence_id: { int64_param: 7 },
      sequence_start: { bool_param: true },
      sequence_end: { bool_param: true },
    },
  },
  {
    ...{ model_name: 'stream', inputs: [{ ...tensor(1), shape: [4] }], raw_input_contents: [floats(4)] },
    parameters: { triton_enable_empty_final_response: { bool_param: true } },
  },
  { model_name: 'chain', model_version: '1', inputs: [tensor(8)], raw_input_contents: [floats(32)] },
  {
    model_name: 'texts',
    inputs: [
      {
        name: 'A',
        datatype: 'BYTES',
        shape: [1, 2],
        contents: { bytes_contents: [Buffer.from('a'), Buffer.from('b')] },
      },
      { name: 'B', datatype: 'INT64', shape: [1, 2], contents: { int64_contents: [1, -1] } },
    ],
    outputs: [{ name: 'F' }, { name: 'T' }],
  },
].map((message) => encode('ModelInfer', message));
const infer = fc.oneof(damagedBytes(goodInfers), anyInfer);

const bytesOf: Readonly<Record<string, number>> = { FP32: 4, BYTES: 4, BOOL: 1 };

/** As many outputs as asked for, each as long as its shape says. */
function checkAnswer(message: Uint8Array, request: Uint8Array): void {
  const { requestType } = serviceMethod('ModelInfer');
  const asked = requestType.toObject(requestType.decode(request), { longs: Number, defaults: true });
  const { model_name, outputs, raw_output_contents } = decode('ModelInfer', message) as unknown as Answer;
  expect(model_name).toBe(asked.model_name);
  expect(outputs.length).toBe(raw_output_contents.length);
  const placed = new Set(
    asked.outputs
      .filter((each: JsonObject) => 'shared_memory_region' in (each.parameters as object))
      .map(({ name }: JsonObject) => name),
  );
  for (const [index, { name, datatype, shape }] of outputs.entries()) {
    const elements = shape.reduce((product, size) => product * size, 1);
    const bytes = placed.has(name) ? 0 : elements * (bytesOf[datatype] as number);
    expect(raw_output_contents[index]?.length).toBe(bytes);
  }
  for (const { shape } of asked.inputs) expect(shape.every((size: number) => size > 0)).toBe(true);
  if (asked.outputs.length === 0) expect(outputs.length).toBeGreaterThan(0);
}

describe('inference requests to the emulator over gRPC that are bad', () => {
  beforeAll(() => ask('SystemSharedMemoryRegister', { name: 'r', key: `/${shmKey}`, byte_size: 4096 }));
  afterAll(() => ask('SystemSharedMemoryUnregister', {}));

  it('are refused, or answered by what they ask', { timeout: FUZZ_TIMEOUT_MS }, async () => {
    await unharmed(fc.tuple(infer, sizes), async ([bytes, lengths]) => {
      const ended = await emulator.grpc('ModelInfer', [], { bytes: [...inPieces(framed(bytes) as Buffer, lengths)] });
      if (answered(ended)) checkAnswer(ended.messages[0] as Uint8Array, bytes);
    });
  });

  it('on a stream are refused, or answered one by one', { timeout: FUZZ_TIMEOUT_MS }, async () => {
    const { responseType } = serviceMethod('ModelStreamInfer');
    await unharmed(
      fc.array(infer, { maxLength: 4 }),
      async (requests) => {
        const ended = await emulator.grpc('ModelStreamInfer', requests);
        for (const message of ended.messages) {
          const { error_message: error } = responseType.toObject(responseType.decode(message), { defaults: true });
          checkWords(error);
        }
        if (answered(ended)) expect(ended.messages.length).toBeLessThanOrEqual(4 * requests.length);
      },
      0.5,
    );
  });

  it('in broken frames are refused', { timeout: FUZZ_TIMEOUT_MS }, async () => {
    const packed = (bytes: Buffer): Buffer => {
      const frame = framed(bytes) as Buffer;
      frame[0] = 1;
      return frame;
    };
    const calls = [framed(goodBytes) as Buffer, packed(gzipSync(goodBytes)), packed(deflateSync(goodBytes))];
    const encoding = fc.constantFrom('gzip', 'deflate', 'identity', 'br', '');
    await unharmed(
      fc.tuple(damagedBytes(calls), sizes, encoding),
      async ([bytes, lengths, name]) => {
        const ended = await emulator.grpc('ModelInfer', [], { bytes: [...inPieces(bytes, lengths)], encoding: name });
        if (answered(ended)) expect(ended.messages.length).toBe(1);
      },
      0.5,
    );
  });
});

const stored = (name: string): ModelConfig =>
  profile.models.find(({ config }) => config.name === name)?.config as unknown as ModelConfig;
const load = (model: string, config: string): Promise<GrpcEnd> =>
  emulator.grpc('RepositoryModelLoad', [
    encode('RepositoryModelLoad', { model_name: model, parameters: { config: { string_param: config } } }),
  ]);
/** As at the start. */
const putBack = async (name: string): Promise<void> => {
  const { failure } = await load(name, JSON.stringify(stored(name)));
  if (failure) throw failure;
};
/** As on the wire. */
const configOf = async (name: string): Promise<string> => {
  const { messages } = await emulator.grpc('ModelConfig', [encode('ModelConfig', { name })]);
  return Buffer.from(messages[0] as Uint8Array).toString('latin1');
};

describe('configs that the emulator is told to load, and that are bad', () => {
  const models = ['second', 'seq', 'stream', 'texts'];
  const documents = models.map((name) => JSON.stringify(stored(name)));
  const words = [
    ...['"max_batch_size":', '"count":', '2147483647', '"dims":[2147483647,2147483647]', '"TYPE_STRING"', '"name":"x"'],
    ...[
      '"sequence_batching":{"oldest":{"max_candidate_sequences":2147483647}}',
      '"dynamic_batching":{}',
      '[',
      '{',
      '"',
    ],
    ...['"model_transaction_policy":{"decoupled":true}', '"platform":"ensemble"', '"ensemble_scheduling":{"step":[]}'],
    ...['"max_queue_delay_microseconds":"18446744073709551615"', '"max_sequence_idle_microseconds":1', '"gpus":[0]'],
  ];
  const keys = ['name', 'max_batch_size', 'input', 'output', 'dims', 'data_type', 'instance_group', 'count', 'kind'];
  const more = fc.record(
    {
      max_batch_size: fc.constantFrom(0, 1, 4, 2 ** 31 - 1, -1),
      instance_group: fc.constantFrom(
        [{ count: 2 ** 31 - 1 }],
        [{ count: 2 ** 20, kind: 'KIND_CPU' }, {}],
        [],
        [{ count: -1 }],
      ),
      output: fc.constantFrom<object[]>(
        [{ name: 'OUT', data_type: 'TYPE_FP32', dims: [2 ** 31, 2 ** 31] }],
        [{ name: 'OUT', data_type: 'TYPE_BOOL', dims: [2 ** 18] }],
        [{ name: 'OUT', data_type: 'TYPE_STRING', dims: [0] }],
        [{ name: '__proto__', data_type: 'TYPE_INT8', dims: [-1] }],
      ),
      dynamic_batching: fc.constantFrom(
        {},
        { max_queue_delay_microseconds: 2 ** 52 },
        { preferred_batch_size: [2 ** 30] },
      ),
      sequence_batching: fc.constantFrom({}, { direct: { minimum_slot_utilization: 'NaN' } }, { oldest: {} }),
    },
    { requiredKeys: [] },
  );
  /** Of the model, so that it is not refused for its name alone. */
  const anyOf = (name: string, json: JsonObject): string => {
    const { backend, input, output } = stored(name);
    return JSON.stringify({ ...json, name, backend, input, output, platform: undefined });
  };
  const config = fc.oneof(
    { weight: 4, arbitrary: damagedText(documents, words).map((text) => () => text) },
    { weight: 2, arbitrary: hostileJson(keys).map((text) => () => text) },
    // Dear to make.
    { weight: 1, arbitrary: anyConfig.map((json) => (name: string) => anyOf(name, json)) },
    { weight: 4, arbitrary: more.map((fields) => (name: string) => JSON.stringify({ ...stored(name), ...fields })) },
  );

  const asStored = new Map<string, string>();
  beforeAll(async () => {
    for (const name of models) asStored.set(name, await configOf(name));
  });

  /** A request that fits the model as it is now. */
  async function fitting(name: string): Promise<Buffer> {
    const { inputs } = (await ask('ModelMetadata', { name })) as unknown as {
      inputs: { name: string; datatype: string; shape: number[] }[];
    };
    const shaped = inputs.map((input) => ({ ...input, shape: input.shape.map((size) => (size < 0 ? 1 : size)) }));
    const bytesOf = ({ datatype, shape }: (typeof shaped)[number]): number =>
      Math.min(
        2 ** 16,
        shape.reduce((all, size) => all * size, 1) * (/32/.test(datatype) ? 4 : /64/.test(datatype) ? 8 : 1),
      );
    return encode('ModelInfer', {
      ...{ model_name: name, inputs: shaped, raw_input_contents: shaped.map((input) => Buffer.alloc(bytesOf(input))) },
      parameters: {
        sequence_id: { int64_param: 1 },
        sequence_start: { bool_param: true },
        sequence_end: { bool_param: true },
      },
    });
  }

  it('are refused with what serves left as it is, or served', { timeout: FUZZ_TIMEOUT_MS }, async () => {
    await unharmed(fc.tuple(fc.constantFrom(...models), config), async ([name, textFor]) => {
      const text = textFor(name);
      const isLoaded = answered(await load(name, text));
      if (!isLoaded) expect(await configOf(name)).toBe(asStored.get(name));
      else {
        const request = await fitting(name);
        const one = await emulator.grpc('ModelInfer', [request]);
        if (answered(one)) expect(one.messages.length).toBe(1);
        answered(await emulator.grpc('ModelStreamInfer', [request]));
        await httpOk(`GET /v2/models/${name}/config`);
        await ask('ModelStatistics', { name });
        await putBack(name);
      }
    });
  });

  it('come with other parameters, and calls to unload, that are bad too', { timeout: FUZZ_TIMEOUT_MS }, async () => {
    const parameterName = fc.constantFrom(
      'config',
      'file:1/model.py',
      'file:x',
      'file:9/a',
      'unload_dependents',
      ...hostileNames,
    );
    const value = fc.oneof(
      parameter,
      fc.constantFrom(...documents).map((text) => ({ string_param: text })),
      fc.constantFrom({ bytes_param: Buffer.from('x') }, {}),
    );
    const name = fc.oneof(fc.constantFrom('second', 'texts', 'chain'), fc.constantFrom(...hostileNames));
    const message = fc.record({ model_name: name, parameters: fc.dictionary(parameterName, value, { maxKeys: 3 }) });
    const damaged = damagedBytes(
      ['second', 'texts', 'chain'].map((model_name) =>
        encode('RepositoryModelLoad', {
          ...{ model_name, repository_name: 'r' },
          parameters: { config: { string_param: documents[0] }, 'file:1/a': { bytes_param: Buffer.from('x') } },
        }),
      ),
    );
    const bytes = fc.oneof(
      message.map((fields) => encode('RepositoryModelLoad', fields)),
      damaged,
    );
    const method = fc.constantFrom('RepositoryModelLoad', 'RepositoryModelUnload');
    await unharmed(
      fc.tuple(method, bytes),
      async ([call, request]) => {
        if (!answered(await emulator.grpc(call, [request]))) return;
        for (const model of ['m', 'second', 'texts']) {
          const { ready } = await ask('ModelReady', { name: model });
          if (!ready || call === 'RepositoryModelLoad') await putBack(model);
        }
      },
      0.5,
    );
  });
});

/** The body of a reply that must be good, over HTTP. */
async function httpOk(line: string): Promise<Buffer> {
  const reply = await emulator.http(Buffer.from(`${line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`));
  expect(reply?.status).toBe(200);
  return (reply as HttpEnd).body;
}

describe('control calls to the emulator over gRPC that are bad', () => {
  const calls: readonly (readonly [method: string, message: object])[] = [
    ['ServerMetadata', {}],
    ['ModelReady', { name: 'm', version: '1' }],
    ['ModelMetadata', { name: 'm' }],
    ['ModelConfig', { name: 'texts', version: '1' }],
    ['ModelStatistics', { name: 'm', version: '1' }],
    ['RepositoryIndex', { ready: true }],
    ['SystemSharedMemoryStatus', { name: 's' }],
    ['SystemSharedMemoryRegister', { name: 's', key: `/${shmKey}`, offset: 4096, byte_size: 4096 }],
    ['SystemSharedMemoryUnregister', { name: 's' }],
    ['CudaSharedMemoryRegister', { name: 's', raw_handle: Buffer.from('x'), byte_size: 8 }],
    [
      'TraceSetting',
      { model_name: 'm', settings: { trace_rate: { value: ['9'] }, trace_level: { value: ['TIMESTAMPS'] } } },
    ],
    ['LogSettings', { settings: { log_verbose_level: { uint32_param: 1 }, log_format: { string_param: 'ISO8601' } } }],
  ];
  const encoded = calls.map(([method, message]) => [method, encode(method, message)] as const);
  const number = fc.constantFrom(0, 1, 4095, 4096, 8192, 8193, '9223372036854775807', '18446744073709551615');
  const key = fc.constantFrom(
    `/${shmKey}`,
    shmKey,
    '/dev/null',
    '/',
    '',
    '..',
    'a/b',
    'a\0b',
    '/nothing-there',
    ...hostileNames,
  );
  const anyRegion = fc
    .record({ name: fc.constantFrom('s', 'r', ...hostileNames), key, offset: number, byte_size: number })
    .map((region) => ['SystemSharedMemoryRegister', encode('SystemSharedMemoryRegister', region)] as const);
  const settings = fc.dictionary(
    fc.constantFrom('trace_level', 'trace_rate', 'trace_count', 'log_frequency', 'trace_file', ...hostileNames),
    fc
      .array(fc.constantFrom('OFF', 'TIMESTAMPS', 'TENSORS', '', '-1', '+7', '4294967296', '1e3', 'x'), {
        maxLength: 3,
      })
      .map((value) => ({ value })),
    { maxKeys: 4 },
  );
  const anyTrace = fc
    .record({ settings, model_name: fc.constantFrom('', 'm', 'texts', ...hostileNames) })
    .map((change) => ['TraceSetting', encode('TraceSetting', change)] as const);
  const logValue = fc.constantFrom(
    { bool_param: false },
    { uint32_param: 2 ** 32 - 1 },
    { string_param: 'default' },
    { string_param: 'x' },
    {},
  );
  const anyLog = fc
    .dictionary(
      fc.constantFrom('log_file', 'log_info', 'log_error', 'log_verbose_level', 'log_format', ...hostileNames),
      logValue,
      { maxKeys: 3 },
    )
    .map((change) => ['LogSettings', encode('LogSettings', { settings: change })] as const);
  const damaged = fc
    .constantFrom(...encoded)
    .chain(([method, bytes]) => damagedBytes([bytes]).map((bad) => [method, bad] as const));

  it('are refused, or answered', { timeout: FUZZ_TIMEOUT_MS }, async () => {
    await unharmed(fc.oneof(damaged, anyRegion, anyTrace, anyLog), async ([method, bytes]) => {
      const ended = await emulator.grpc(method, [bytes]);
      if (!answered(ended)) return;
      const reply = decode(method, ended.messages[0] as Uint8Array);
      if (method === 'SystemSharedMemoryRegister') {
        const { regions } = (await ask('SystemSharedMemoryStatus', {})) as {
          regions: Record<string, { offset: number; byte_size: number }>;
        };
        for (const { offset, byte_size } of Object.values(regions)) {
          expect(offset % 4096).toBe(0);
          expect(offset + byte_size).toBeLessThanOrEqual(REGION_BYTES);
        }
        await ask('SystemSharedMemoryUnregister', {});
      } else if (method === 'TraceSetting') {
        const { settings: now } = reply as { settings: Record<string, { value: string[] }> };
        for (const name of ['trace_rate', 'trace_count', 'log_frequency'])
          expect(now[name]?.value[0]).toMatch(/^(-1|\d{1,10})$/);
        expect(now.trace_file?.value).toEqual(['/nowhere/trace']);
      } else if (method === 'LogSettings') {
        expect(Object.keys((reply as { settings: object }).settings)).toHaveLength(6);
      }
    });
  });
});

const http = (line: string, body: Buffer | string, headers: readonly string[] = []): Buffer => {
  const bytes = Buffer.from(body as string);
  const head = [`${line} HTTP/1.1`, 'Host: x', 'Connection: close', `Content-Length: ${bytes.length}`, ...headers];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), bytes]);
};

/** A reply of the protocol: JSON with the error's words, or what was asked for. */
function checkReply(reply: HttpEnd | null): unknown {
  if (!reply || reply.body.length === 0) return null;
  if (!/^content-type: application\/json/im.test(reply.head)) return null;
  const json = JSON.parse(reply.body.toString()) as { error?: unknown };
  if (reply.status !== 200) {
    expect(typeof json.error).toBe('string');
    checkWords(json.error as string);
  }
  return json;
}

const httpTensor = (more: object = {}) => ({
  name: 'IN',
  datatype: 'FP32',
  shape: [1, 4],
  data: [1, 2, 3, 4],
  ...more,
});
const binary = JSON.stringify({
  inputs: [httpTensor({ data: undefined, parameters: { binary_data_size: 16 } })],
  outputs: [{ name: 'OUT', parameters: { binary_data: true } }],
});
const shmParameters = { shared_memory_region: 'r', shared_memory_byte_size: 16, shared_memory_offset: 0 };
const httpBodies: readonly (readonly [json: string, tail: Buffer])[] = [
  [binary, floats(4)],
  [
    JSON.stringify({
      id: 'x',
      inputs: [httpTensor({ data: [[1, 2, 3, 4]] })],
      parameters: { binary_data_output: true },
    }),
    Buffer.alloc(0),
  ],
  [
    JSON.stringify({
      inputs: [httpTensor({ data: undefined, parameters: shmParameters })],
      outputs: [{ name: 'OUT', parameters: shmParameters }],
    }),
    Buffer.alloc(0),
  ],
  [
    JSON.stringify({
      inputs: [httpTensor()],
      parameters: { sequence_id: 's', sequence_start: true, sequence_end: true },
    }),
    Buffer.alloc(0),
  ],
  [JSON.stringify({ inputs: [{ name: 'A', datatype: 'BYTES', shape: [1, 2], data: ['a', 'b'] }] }), Buffer.alloc(0)],
];
const httpKeys = [
  ...['inputs', 'outputs', 'name', 'datatype', 'shape', 'data', 'parameters', 'id', 'IN', 'OUT', 'FP32', 'BYTES', 'A'],
  ...['binary_data_size', 'binary_data', 'binary_data_output', 'shared_memory_region', 'shared_memory_byte_size', 'r'],
];

describe('requests to the emulator over HTTP that are bad', () => {
  beforeAll(() => ask('SystemSharedMemoryRegister', { name: 'r', key: `/${shmKey}`, byte_size: 4096 }));
  afterAll(() => ask('SystemSharedMemoryUnregister', {}));

  const model = fc.constantFrom(
    'm',
    'm',
    'm',
    'seq',
    'stream',
    'chain',
    'texts',
    '%6D',
    '%zz',
    '%',
    '__proto__',
    'a%00b',
    'é',
  );
  const version = fc.constantFrom('', '', '/versions/1', '/versions/2', '/versions/%', '/versions/');
  const words = [
    '{',
    '[',
    ']',
    '}',
    ',',
    '"inputs":',
    '"binary_data_size":',
    '-1',
    '1e9',
    '"shape":[-1]',
    '"__proto__":{}',
  ];
  const body = fc.oneof(
    {
      weight: 3,
      arbitrary: fc
        .constantFrom(...httpBodies)
        .chain(([json, tail]) => damagedText([json], words).map((bad) => [bad, tail] as const)),
    },
    { weight: 1, arbitrary: fc.constantFrom(...httpBodies) },
    {
      weight: 2,
      arbitrary: hostileJson(httpKeys).map(
        (json) => [`{"inputs":[${json},{"name":"IN","datatype":"FP32","shape":${json}}]}`, floats(4)] as const,
      ),
    },
    {
      weight: 1,
      arbitrary: hostileJson(httpKeys).map(
        (json) =>
          [
            `{"inputs":[{"name":"IN","datatype":"FP32","shape":[1,4],"parameters":${json},"data":${json}}],"outputs":[{"name":"OUT","parameters":${json}}],"parameters":${json}}`,
            floats(4),
          ] as const,
      ),
    },
  );
  /** What the header says of the JSON's length: the truth mostly, or any lie. */
  const headerLength = fc.oneof(
    { weight: 3, arbitrary: fc.constant((length: number) => String(length)) },
    {
      weight: 2,
      arbitrary: fc
        .constantFrom('', '0', '-1', '1', '0x10', '1e2', '9007199254740993', '99999999999', 'NaN', ' ')
        .map((lie) => () => lie),
    },
    { weight: 2, arbitrary: fc.integer({ min: -20, max: 20 }).map((off) => (length: number) => String(length + off)) },
    { weight: 2, arbitrary: fc.constant(null) },
  );
  const encoding = fc.constantFrom('', '', '', '', 'gzip', 'deflate', 'br', 'packed');

  it('to infer are refused, or answered with as many bytes as they say', { timeout: FUZZ_TIMEOUT_MS }, async () => {
    await unharmed(
      fc.tuple(model, version, body, headerLength, encoding),
      async ([name, at, [json, tail], lengthOf, how]) => {
        const whole = Buffer.concat([Buffer.from(json), tail]);
        const headers = [
          ...(lengthOf ? [`Inference-Header-Content-Length: ${lengthOf(Buffer.byteLength(json))}`] : []),
          ...(how === '' ? [] : [`Content-Encoding: ${how === 'packed' ? 'gzip' : how}`]),
        ];
        const sent = http(`POST /v2/models/${name}${at}/infer`, how === 'packed' ? gzipSync(whole) : whole, headers);
        const reply = await emulator.http(sent);
        checkReply(reply);
        if (reply?.status !== 200) return;
        const jsonBytes = Number(
          /^inference-header-content-length: (\d+)$/im.exec(reply.head)?.[1] ?? reply.body.length,
        );
        const { outputs } = JSON.parse(reply.body.toString('utf8', 0, jsonBytes)) as {
          outputs: { shape: number[]; datatype: string; data?: unknown[]; parameters?: { binary_data_size: number } }[];
        };
        let left = reply.body.length - jsonBytes;
        for (const { shape, datatype, data, parameters } of outputs) {
          const elements = shape.reduce((product, size) => product * size, 1);
          if (data) expect(data.length).toBe(elements);
          if (parameters) expect(parameters.binary_data_size).toBe(elements * (bytesOf[datatype] as number));
          left -= parameters?.binary_data_size ?? 0;
        }
        expect(left).toBe(0);
      },
    );
  });

  it('to control it, or to generate, are refused, or answered', { timeout: FUZZ_TIMEOUT_MS }, async () => {
    const lines = fc.constantFrom(
      ...['second', 'texts', '%zz', '%00', '..', '__proto__'].flatMap((name) => [
        `POST /v2/repository/models/${name}/load`,
        `POST /v2/repository/models/${name}/unload`,
        `POST /v2/models/${name}/generate`,
        `POST /v2/models/${name}/generate_stream`,
        `POST /v2/models/${name}/trace/setting`,
        `GET /v2/models/${name}/config`,
        `GET /v2/models/${name}/versions/1/stats`,
        `POST /v2/systemsharedmemory/region/${name}/register`,
        `GET /v2/systemsharedmemory/region/${name}/status`,
      ]),
      ...['POST /v2/models/m/generate', 'POST /v2/models/texts/generate_stream', 'POST /v2/models/stream/generate'],
      ...[
        'POST /v2/repository/index',
        'POST /v2/logging',
        'POST /v2/trace/setting',
        'DELETE /v2',
        'GET /v2/health/ready',
      ],
    );
    const keys = [
      ...[
        'parameters',
        'config',
        'file:1/model.py',
        'unload_dependents',
        'ready',
        'key',
        'offset',
        'byte_size',
        'IN',
        'A',
      ],
      ...['trace_level', 'trace_rate', 'trace_count', 'log_info', 'log_verbose_level', 'log_format', 'id', shmKey],
    ];
    const documents = [
      JSON.stringify({ parameters: { config: JSON.stringify(stored('second')) } }),
      JSON.stringify({ key: `/${shmKey}`, offset: 0, byte_size: 4096 }),
      JSON.stringify({ IN: [1, 2, 3, 4], A: ['a'], id: 'x', sequence_id: 3, sequence_start: true }),
      JSON.stringify({ trace_level: ['TIMESTAMPS'], trace_rate: '7', log_verbose_level: 1, log_format: 'ISO8601' }),
    ];
    const text = fc.oneof(damagedText(documents, words), hostileJson(keys));
    await unharmed(fc.tuple(lines, text), async ([line, json]) => {
      const reply = await emulator.http(http(line, json));
      checkReply(reply);
      if (!/register/.test(line) && !/load$/.test(line)) return;
      const regions = JSON.parse((await httpOk('GET /v2/systemsharedmemory/status')).toString()) as {
        name: string;
        byte_size: number;
      }[];
      for (const { name, byte_size } of regions) {
        expect(byte_size).toBeLessThanOrEqual(REGION_BYTES);
        if (name !== 'r') await ask('SystemSharedMemoryUnregister', { name });
      }
      if (reply?.status === 200 && /load /.test(`${line} `))
        for (const name of ['second', 'texts']) await putBack(name);
    });
  });

  it('in broken HTTP are refused, or end the connection', { timeout: FUZZ_TIMEOUT_MS }, async () => {
    const requests = [
      http('POST /v2/models/m/infer', `${binary}${floats(4).toString('latin1')}`, [
        `Inference-Header-Content-Length: ${binary.length}`,
      ]),
      Buffer.from(
        `POST /v2/logging HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{ }\r\n0\r\n\r\n`,
      ),
      Buffer.from(
        'GET /v2 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\nExpect: 100-continue\r\n\r\n',
      ),
    ];
    await unharmed(
      damagedBytes(requests),
      async (bytes) => {
        const reply = await emulator.http(bytes);
        if (reply && reply.status < 500) expect(reply.status).toBeGreaterThanOrEqual(100);
      },
      0.5,
    );
  });
});

describe('a request to the emulator that stands for more than it is', () => {
  const length = (bytes: number): Buffer => {
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(bytes, 1);
    return prefix;
  };
  const packed = (frame: Buffer): Buffer => Buffer.concat([Buffer.of(1), frame.subarray(1)]);
  /** 144 MiB: a gzip file may have any number of parts. */
  const zeros = Buffer.concat(Array<Buffer>(9).fill(gzipSync(Buffer.alloc(2 ** 24))));
  const refusal = async (end: Promise<GrpcEnd>): Promise<string> => {
    const { failure } = await end;
    checkWords(failure?.message ?? '');
    return `${failure?.status}: ${failure?.message}`;
  };

  it('by its length is refused before it has come', async () => {
    const bytes = [Buffer.concat([length(2 ** 32 - 1), Buffer.alloc(9)])];
    expect(await refusal(emulator.grpc('ModelInfer', [], { bytes }))).toMatch(/RESOURCE_EXHAUSTED: .*larger than max/);
  });

  it('packed is refused over both protocols', async () => {
    const bytes = [packed(framed(zeros) as Buffer)];
    expect(await refusal(emulator.grpc('ModelInfer', [], { bytes, encoding: 'gzip' }))).toMatch(/decompress/);
    const reply = await emulator.http(http('POST /v2/models/m/infer', zeros, ['Content-Encoding: gzip']));
    expect(checkReply(reply)).toEqual({ error: expect.stringMatching(/decompress/) });
  });

  it('by a count of values that its bytes do not hold is refused at once', async () => {
    const contents = Buffer.of(0x1a, 0xff, 0xff, 0xff, 0xff, 0x0f);
    const input = Buffer.concat([Buffer.of(0x2a, contents.length), contents]);
    const bytes = Buffer.concat([Buffer.of(0x0a, 1, 0x6d, 0x2a, input.length), input]);
    expect(await refusal(emulator.grpc('ModelInfer', [bytes]))).toMatch(/INTERNAL/);
  });

  it('by groups or lists deeper than a stack is refused', async () => {
    expect(await refusal(emulator.grpc('ModelInfer', [Buffer.alloc(1_000_000, 0x0b)]))).toMatch(/INTERNAL/);
    const deep = nested('[', '', ']');
    expect(await refusal(load('second', `{"parameters":${deep}}`))).toMatch(/failed to poll/);
    for (const [line, body] of [
      ['POST /v2/models/m/infer', `{"inputs":[{"name":"IN","datatype":"FP32","shape":[1,4],"data":${deep}}]}`],
      ['POST /v2/models/m/generate', `{"IN":${deep}}`],
      ['POST /v2/logging', deep],
    ] as const) {
      expect(checkReply(await emulator.http(http(line, body)))).toEqual({
        error: expect.stringMatching(/failed to parse/),
      });
    }
  });

  it.each<[string, object, RegExp]>([
    ['instances', { instance_group: [{ count: 2 ** 31 - 1 }] }, /4096 instances/],
    [
      'bytes of an answer',
      { output: [{ name: 'OUT', data_type: 'TYPE_FP32', dims: [2 ** 31, 2 ** 20] }] },
      /failed to allocate/,
    ],
    ['values of an answer', { output: [{ name: 'OUT', data_type: 'TYPE_BOOL', dims: [2 ** 29] }] }, /values as JSON/],
  ])('by a config of too many %s is refused', async (_, change, words) => {
    const isLoaded = await load('second', JSON.stringify({ ...stored('second'), ...change }));
    const body = JSON.stringify({ inputs: [httpTensor()] });
    const { error } = checkReply(await emulator.http(http('POST /v2/models/second/infer', body))) as { error?: string };
    expect(isLoaded.failure?.message ?? error).toMatch(words);
    await putBack('second');
  });

  it('by asking in ever new ways makes it remember no more than some', () => {
    const cache = new AnswerCache();
    const [small, large] = [Buffer.alloc(9), Buffer.alloc(2 ** 20)].map((body) => ({ body, headerLength: null }));
    const kept = (answer: EncodedAnswer, times: number, asked: string): number => {
      for (let way = 0; way < times; way++) cache.set(`${asked} ${way}`, answer);
      expect(cache.get(`${asked} ${times - 1}`)).toBe(answer);
      return Array.from({ length: times }, (_, way) => cache.get(`${asked} ${way}`)).filter(Boolean).length;
    };
    expect(kept(small as EncodedAnswer, 5000, 'small')).toBeLessThanOrEqual(1000);
    expect(kept(large as EncodedAnswer, 900, 'large')).toBeLessThanOrEqual(256);
  });

  it('ends a call that brings no message', async () => {
    for (const method of ['ModelInfer', 'ServerLive'])
      expect(await refusal(emulator.grpc(method, []))).toMatch(/without its request/);
    expect(await emulator.grpc('ModelStreamInfer', [])).toEqual({ messages: [], failure: null });
  });
});
