import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { damagedBytes, damagedText, FUZZ_TIMEOUT_MS, hostileJson } from '../../support/fuzz.ts';
import { binary, checkReply, httpOk, httpRequest, httpTensor } from './http-call.ts';
import { bytesOf } from './requests.ts';
import { ask, floats, http, putBack, REGION_BYTES, shmKey, stored, unharmed } from './subject.ts';

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

/** Of the binary tensors that it says are behind it. */
const inputBytes = (json: string): number => {
  const { inputs } = JSON.parse(json) as { inputs: { parameters?: { binary_data_size?: number } }[] };
  return inputs.reduce((sum, { parameters }) => sum + (parameters?.binary_data_size ?? 0), 0);
};

describe('requests to the emulator over HTTP that are bad', () => {
  beforeAll(() => ask('SystemSharedMemoryRegister', { name: 'r', key: `/${shmKey}`, byte_size: 4096 }));
  afterAll(() => ask('SystemSharedMemoryUnregister', {}));

  const model = fc.oneof(
    { weight: 3, arbitrary: fc.constant('m') },
    {
      weight: 1,
      arbitrary: fc.constantFrom('seq', 'stream', 'chain', 'texts', '%6D', '%zz', '%', '__proto__', 'a%00b', 'é'),
    },
  );
  const version = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom('', '/versions/1') },
    { weight: 1, arbitrary: fc.constantFrom('/versions/2', '/versions/%', '/versions/') },
  );
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
    { weight: 3, arbitrary: fc.constantFrom(...httpBodies) },
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
    { weight: 6, arbitrary: fc.constant((length: number) => String(length)) },
    {
      weight: 2,
      arbitrary: fc
        .constantFrom('', '0', '-1', '1', '0x10', '1e2', '9007199254740993', '99999999999', 'NaN', ' ')
        .map((lie) => () => lie),
    },
    { weight: 2, arbitrary: fc.integer({ min: -20, max: 20 }).map((off) => (length: number) => String(length + off)) },
    { weight: 2, arbitrary: fc.constant(null) },
  );
  const encoding = fc.constantFrom('', '', '', '', '', '', 'gzip', 'deflate', 'packed', 'packed');

  it('to infer are refused, or answered with as many bytes as they say', { timeout: FUZZ_TIMEOUT_MS }, async () => {
    await unharmed(
      fc.tuple(model, version, body, headerLength, encoding),
      async ([name, at, [json, tail], lengthOf, how]) => {
        const whole = Buffer.concat([Buffer.from(json), tail]);
        const headers = [
          ...(lengthOf ? [`Inference-Header-Content-Length: ${lengthOf(Buffer.byteLength(json))}`] : []),
          ...(how === '' ? [] : [`Content-Encoding: ${how === 'packed' ? 'gzip' : how}`]),
        ];
        const sent = httpRequest(
          `POST /v2/models/${name}${at}/infer`,
          how === 'packed' ? gzipSync(whole) : whole,
          headers,
        );
        const reply = await http(sent);
        checkReply(reply);
        if (reply?.status !== 200) return false;
        // A length of 0 says that there is no JSON, and that all is one tensor.
        if (json !== '' && lengthOf?.(Buffer.byteLength(json)) === String(Buffer.byteLength(json)))
          expect(inputBytes(json)).toBe(tail.length);
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
        return true;
      },
    );
  });

  it.each<[string, number | string, RegExp]>([
    ['too much', binary.length + 1, /failed to parse/],
    ['too little', binary.length - 1, /failed to parse/],
    ['more than there is', 10 ** 6, /Invalid value '1000000'/],
    ['no number', '0x10', /Invalid value '0x10'/],
    ['nothing', '', /Invalid value ''/],
    ['that all is one tensor', 0, /total byte size/],
  ])('whose header says of the JSON %s are refused', async (_, length, words) => {
    const whole = Buffer.concat([Buffer.from(binary), floats(4)]);
    const send = (value: number | string, body: Buffer) =>
      http(httpRequest('POST /v2/models/m/infer', body, [`Inference-Header-Content-Length: ${value}`]));
    expect((await send(binary.length, whole))?.status).toBe(200);
    expect(checkReply(await send(length, whole))).toEqual({ error: expect.stringMatching(words) });
    const longer = Buffer.concat([whole, Buffer.of(1)]);
    expect(checkReply(await send(binary.length, longer))).toEqual({
      error: expect.stringMatching(/additional input data/),
    });
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
        `POST /v2/cudasharedmemory/region/${name}/register`,
        `GET /v2/cudasharedmemory/region/${name}/status`,
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
        'raw_handle',
        'b64',
        'device_id',
        'IN',
        'A',
      ],
      ...['trace_level', 'trace_rate', 'trace_count', 'log_info', 'log_verbose_level', 'log_format', 'id', shmKey],
    ];
    const documents = [
      JSON.stringify({ parameters: { config: JSON.stringify(stored('second')) } }),
      JSON.stringify({ key: `/${shmKey}`, offset: 0, byte_size: 4096 }),
      JSON.stringify({ raw_handle: { b64: btoa(`/${shmKey}`) }, device_id: 0, byte_size: 4096 }),
      JSON.stringify({ IN: [1, 2, 3, 4], A: ['a'], id: 'x', sequence_id: 3, sequence_start: true }),
      JSON.stringify({ trace_level: ['TIMESTAMPS'], trace_rate: '7', log_verbose_level: 1, log_format: 'ISO8601' }),
    ];
    const text = fc.oneof(damagedText(documents, words), hostileJson(keys));
    await unharmed(fc.tuple(lines, text), async ([line, json]) => {
      const reply = await http(httpRequest(line, json));
      checkReply(reply);
      const isTaken = reply?.status === 200;
      if (!/register/.test(line) && !/load$/.test(line)) return isTaken;
      const regions = JSON.parse((await httpOk('GET /v2/systemsharedmemory/status')).toString()) as {
        name: string;
        byte_size: number;
      }[];
      for (const { name, byte_size } of regions) {
        expect(byte_size).toBeLessThanOrEqual(REGION_BYTES);
        if (name !== 'r') await ask('SystemSharedMemoryUnregister', { name });
      }
      await ask('CudaSharedMemoryUnregister', {});
      if (isTaken && /load$/.test(line)) for (const name of ['second', 'texts']) await putBack(name);
      return isTaken;
    });
  });

  it('in broken HTTP are refused, or end the connection', { timeout: FUZZ_TIMEOUT_MS }, async () => {
    const requests = [
      httpRequest('POST /v2/models/m/infer', `${binary}${floats(4).toString('latin1')}`, [
        `Inference-Header-Content-Length: ${binary.length}`,
      ]),
      Buffer.from(
        `POST /v2/logging HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{ }\r\n0\r\n\r\n`,
      ),
      Buffer.from(
        'GET /v2 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\nExpect: 100-continue\r\n\r\n',
      ),
    ];
    await unharmed(damagedBytes(requests), async (bytes) => {
      const reply = await http(bytes);
      // Nothing here is a fault of the server, but for what its own protocol calls one.
      if (reply?.status === 500) checkReply(reply);
      return reply?.status === 200;
    });
  });
});
