import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type protobuf from 'protobufjs';
import { findMetric } from '#app/traffic/accuracy-command.ts';
import { readInferRequest } from '#emulator/grpc/infer-codec.ts';
import { parseBodyJson } from '#emulator/http/request.ts';
import { changedSettings, engineSettings } from '#emulator/language/engine-settings.ts';
import { OpenAiFailure } from '#emulator/language/openai-failure.ts';
import { readChat, readCompletion } from '#emulator/language/openai-request.ts';
import { readPostedConfig } from '#emulator/profile/posted-config.ts';
import { ProtocolFailure } from '#emulator/wire/protocol-failure.ts';
import { toTextCall } from '#emulator/wire/text-call.ts';
import { fleetCodec } from '#fleet/temporal/codec.ts';
import { FrameReader } from '#http2/frame-reader.ts';
import { ProtocolError } from '#http2/frames.ts';
import { HeaderBlocks } from '#http2/header-blocks.ts';
import { HpackDecoder } from '#http2/hpack-decoder.ts';
import { PeerSettings } from '#http2/peer-settings.ts';
import { faultIn } from '#launch/engine-log.ts';
import { lastWords } from '#launch/log-tail.ts';
import { encodeMessage } from '#loadgen/agents/codec.ts';
import { AGENT_PROTOCOL, readToAgent, readToController } from '#loadgen/agents/protocol.ts';
import { messagesApi } from '#loadgen/endpoints/anthropic-messages.ts';
import { errorOfReply } from '#loadgen/endpoints/event-endpoint.ts';
import { EventStreamReply } from '#loadgen/endpoints/event-stream-reply.ts';
import { askModels } from '#loadgen/endpoints/openai-models.ts';
import { responsesApi } from '#loadgen/endpoints/openai-responses.ts';
import { createTritonEvents, openAiEvents } from '#loadgen/endpoints/stream-event.ts';
import { readTextResponse } from '#loadgen/endpoints/text-replies.ts';
import { WholeReply } from '#loadgen/endpoints/whole-reply.ts';
import { replyCheck } from '#loadgen/reply-check.ts';
import { MalformedResponse } from '#loadgen/transports/http1-response-head.ts';
import { ResponseParser } from '#loadgen/transports/http1-response-parser.ts';
import { errorOfBody, readInferReply } from '#loadgen/transports/infer-http.ts';
import { decodeInferReply } from '#loadgen/transports/infer-message.ts';
import { readStreamReply } from '#loadgen/transports/stream-reply.ts';
import type { InferRequest, OutputTensor } from '#loadgen/types.ts';
import { deviceMetrics, meanDeviceMetrics } from '#profiler/devices/device-probe.ts';
import { parsePrometheus } from '#profiler/devices/prometheus.ts';
import { exportedTensors } from '#report/exported-tensors.ts';
import { validateConfig } from '#triton/config/validation.ts';
import { clientOver } from '#triton/control/client.ts';
import { connectHttp } from '#triton/control/connect.ts';
import type { TritonClient } from '#triton/types.ts';
import { decodeWithUnknown, listUnknownFields, messageType, serviceMethod } from '#triton/wire/proto.ts';
import { type Wire, WireFault } from '#triton/wire/wire.ts';
import { mouseActionsIn } from '#tui/mouse.ts';
import { orderIn } from '#watch/page-controls.ts';
import { inPieces } from '../../support/fuzz.ts';
import * as h2 from '../../support/scripted-h2.ts';
import { jsonWords } from './data.ts';
import { type Parser, refusing, throwing } from './parser.ts';
import { soundH2, soundHttp1 } from './sound-replies.ts';

/**
 * Bytes in pieces, each in a buffer that is lent, with the remains of earlier reads behind its end,
 * as from a socket.
 */
function lent(bytes: Buffer, sizes: readonly number[], take: (buffer: Buffer, length: number) => void): void {
  const buffer = Buffer.alloc(4096, 0xff);
  for (const piece of inPieces(bytes, sizes)) {
    for (const part of inPieces(piece, [4096])) {
      part.copy(buffer);
      take(buffer, part.length);
    }
  }
}

/** Two ways to cut the bytes, which must make no difference. */
const cuts = (bytes: Buffer): readonly (readonly number[])[] => [
  [4096],
  [1 + (bytes[0] ?? 0) / 5, 3, 1 + (bytes.length % 17)],
];

function answersIn(bytes: Buffer, lengths: readonly number[]): readonly string[] {
  const parser = new ResponseParser({ keepsErrors: true });
  const seen: string[] = [];
  const note = (): void => {
    seen.push(`${parser.statusCode} ${parser.keepsAlive} ${parser.bodyBytes} ${parser.errorBody}`);
    parser.next();
  };
  try {
    lent(bytes, lengths, (buffer, length) => {
      for (let used = 0; used < length; ) {
        used += parser.push(buffer.subarray(used), length - used);
        if (parser.isDone) note();
      }
    });
    if (parser.close()) note();
    return seen;
  } catch (error) {
    if (!(error instanceof MalformedResponse)) throw error;
    return [...seen, 'malformed'];
  }
}

const http1: Parser = {
  name: 'an HTTP/1 answer',
  sources: [
    'loadgen/transports/http1-response-parser.ts',
    'loadgen/transports/http1-response-head.ts',
    'loadgen/transports/http1-connection.ts',
    'loadgen/transports/socket.ts',
  ],
  read: (bytes) => {
    const [whole, cut] = cuts(bytes).map((sizes) => answersIn(bytes, sizes));
    assert.deepEqual(cut, whole);
    return whole;
  },
  seeds: soundHttp1,
  words: [
    '\r\n',
    '\r\n\r\n',
    'HTTP/1.1 200 OK\r\n',
    'Content-Length: ',
    'Transfer-Encoding: chunked\r\n',
    '0\r\n\r\n',
    ': ',
    ', ',
    'ffffffffffffffff',
  ],
};

function framesOf(bytes: Buffer, lengths: readonly number[]): readonly string[] {
  const seen: string[] = [];
  let data = '';
  const reader = new FrameReader({
    frame: (type, flags, id, chunk, start, end) =>
      void seen.push(`${type} ${flags} ${id} ${chunk.toString('hex', start, end)}`),
    data: (_, chunk, start, end) => {
      data += chunk.toString('hex', start, end);
    },
    dataEnd: (id, flags, length) => {
      seen.push(`data ${flags} ${id} ${length} ${data}`);
      data = '';
    },
  });
  try {
    lent(bytes, lengths, (buffer, length) => reader.push(buffer, length));
    return seen;
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    return [...seen, 'broken'];
  }
}

const frames: Parser = {
  name: 'frames of HTTP/2',
  sources: ['http2/frame-reader.ts', 'loadgen/transports/h2-connection.ts', 'emulator/grpc/connection.ts'],
  read: (bytes) => {
    const [whole, cut] = cuts(bytes).map((sizes) => framesOf(bytes, sizes));
    assert.deepEqual(cut, whole);
    return whole;
  },
  seeds: soundH2,
};

const settings = throwing([ProtocolError], {
  name: 'settings of HTTP/2',
  sources: ['http2/peer-settings.ts'],
  read: (_, bytes) => {
    const peer = new PeerSettings();
    peer.update(bytes, 0, bytes.length);
    assert.ok(peer.initialWindow < 2 ** 31);
    assert.ok(peer.maxFrame >= 16_384);
    return peer;
  },
  seeds: [h2.settingsFrame([4, 1], [5, 16_384], [1, 0]).subarray(9)],
});

const blocks = [
  Buffer.of(0x88),
  Buffer.concat([Buffer.of(0x88, 0x40, 1), Buffer.from('a'), Buffer.of(2), Buffer.from('bc'), Buffer.of(0xbe)]),
  Buffer.concat([Buffer.of(0x3f, 0xe1, 0x1f, 0x20), h2.field('grpc-status', '0')]),
  Buffer.concat([Buffer.of(0x00, 0x8a), Buffer.from('9acac8b21234da8f0789', 'hex')]),
];
const hpack = throwing([ProtocolError], {
  name: 'a header block of HTTP/2',
  sources: ['http2/hpack-decoder.ts', 'http2/header-blocks.ts', 'loadgen/transports/h2-streams.ts'],
  read: (_, bytes) => {
    const decoder = new HpackDecoder();
    let chars = 0;
    const field = (name: string, value: string): void => {
      chars += name.length + value.length;
    };
    const middle = bytes.length >> 1;
    const parts = (bytes[0] ?? 0) % 2 === 0 ? [bytes] : [bytes.subarray(0, middle), bytes.subarray(middle)];
    try {
      for (const part of parts) decoder.decode(part, 0, part.length, { field });
      const headers = new HeaderBlocks();
      headers.open(0, 1, bytes, 0, middle);
      if (headers.extend(4, 1, bytes, middle, bytes.length)) headers.decode({ field });
    } finally {
      // An entry of the table is 4 KiB at most, and a byte names one.
      assert.ok(chars < 2 * 4096 * (bytes.length + 1));
    }
    return 'read';
  },
  seeds: blocks.slice(0, 3).filter((block) => (block[0] ?? 0) % 2 === 0),
});

/** What a server may answer that is coded, whatever it sends. */
export const replyCodes = [
  ...(['SERVER_UNREACHABLE', 'SERVER_FAILED', 'SERVER_TIMEOUT', 'MODEL_UNKNOWN', 'MODEL_UNREADY'] as const),
  ...(['CONTROL_DISABLED', 'LOAD_REFUSED', 'CONFIG_INVALID', 'UNSUPPORTED'] as const),
];

/** What the client asks; first what the replies below answer, in their order. */
export const questions: readonly ((client: TritonClient) => Promise<unknown>)[] = [
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
const httpTexts = replies.map(([method, message]) =>
  JSON.stringify(
    Object.values(message).length === 1 && method !== 'ModelStatistics' ? Object.values(message)[0] : message,
  ),
);

/** A server that answers whatever it is asked with the same bytes. */
let answer: { readonly status: number; readonly body: Buffer } = { status: 200, body: Buffer.alloc(0) };
const server = createServer((request, response) => {
  request.resume();
  response.writeHead(answer.status).end(answer.body);
});
server.listen(0, '127.0.0.1').unref();
await new Promise((done) => server.once('listening', done));
const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
const client = connectHttp(address, { defaultTimeoutMs: 5000, loadTimeoutMs: 5000 });
const statuses = [200, 200, 200, 400, 404, 500];

const controlHttp = refusing(replyCodes, {
  name: 'an answer to a control call over HTTP',
  sources: ['triton/wire/http.ts', 'triton/wire/replies.ts', 'triton/control/statistics.ts'],
  read: async (_, body) => {
    answer = { status: statuses[body.length % statuses.length] as number, body };
    // Each asks for one answer; the sound ones are asked for their own.
    const own = httpTexts.indexOf(body.toString());
    const number = own < 0 ? body.length % questions.length : own;
    if (own >= 0) answer = { status: 200, body };
    await questions[number]?.(client);
    return 'read';
  },
  seeds: httpTexts,
  words: ['{', '[', '"error":', '1e999', ',"x":[]', '"dims":', '"state":', '"ns":'],
  isSlow: true,
});

const openAiModels: Parser = {
  name: "a list of a server's models",
  sources: ['loadgen/endpoints/openai-models.ts'],
  read: (body) => {
    answer = { status: 200, body };
    return askModels({ address, host: address, basePath: '', headers: [], tls: undefined }, 5000);
  },
  seeds: ['{"object":"list","data":[{"id":"m","owned_by":"vllm"}]}'],
  words: jsonWords,
  isSlow: true,
};

/** As the gRPC library does it: bytes that are no such message are the server's fault. */
function wireOf(type: protobuf.Type, bytes: Buffer): Wire {
  return {
    protocol: 'grpc',
    url: 'host:1',
    close: async () => undefined,
    async call() {
      let message: protobuf.Message;
      try {
        message = decodeWithUnknown(type, bytes);
      } catch (error) {
        throw new WireFault('failed', 'response message parsing error', { cause: error });
      }
      listUnknownFields(message);
      return type.toObject(message, { enums: String, longs: String, bytes: String });
    },
  };
}

const controlGrpc = replies.map(([method, message], index): Parser => {
  const { responseType } = serviceMethod(method);
  return refusing(replyCodes, {
    name: `an answer to ${method} over gRPC`,
    sources: ['triton/wire/proto.ts', 'triton/wire/grpc.ts', 'triton/wire/replies.ts', 'triton/control/statistics.ts'],
    read: async (_, bytes) => {
      await questions[index]?.(clientOver(wireOf(responseType, bytes), { defaultTimeoutMs: 1, loadTimeoutMs: 1 }));
      return 'read';
    },
    seeds: [responseType.encode(responseType.fromObject(message)).finish()],
  });
});

const outputs = [
  { name: 'O', datatype: 'FP32', shape: [1, 2] },
  { name: 'P', datatype: 'BYTES', shape: [1] },
];
const raws = [Buffer.from(new Float32Array([1, 2]).buffer), Buffer.from('\x01\0\0\0a')];
const expected = outputs.map((output, index) => ({ ...output, raw: raws[index] as Buffer }));
const check = replyCheck(0.1);
/** What comes out of a reply lies within it, can be compared, and can be written. */
function look(tensors: readonly OutputTensor[], bytes: number): readonly OutputTensor[] {
  assert.ok(tensors.reduce((sum, { raw }) => sum + raw.length, 0) <= bytes);
  const verdict = check({ expected: [expected] } as unknown as InferRequest, [tensors]);
  if (verdict && !verdict.ok) assert.notEqual(verdict.message, '');
  JSON.parse(exportedTensors(tensors));
  return tensors;
}

const inferType = messageType('ModelInferResponse');
const inferMessage = inferType
  .encode(inferType.fromObject({ model_name: 'm', outputs, raw_output_contents: raws }))
  .finish();
const inferGrpc = throwing([Error], {
  name: 'an infer reply over gRPC',
  sources: ['loadgen/transports/infer-message.ts', 'loadgen/transports/json-tensors.ts', 'report/exported-tensors.ts'],
  read: (_, bytes) => {
    let tensors: readonly OutputTensor[];
    try {
      tensors = decodeInferReply(bytes);
    } catch {
      return undefined;
    }
    return looked(tensors, bytes.length);
  },
  seeds: [inferMessage],
});

/** `look`, whose faults are never taken for a refusal of the bytes. */
class Defect {
  readonly cause: unknown;
  constructor(cause: unknown) {
    this.cause = cause;
  }
}
function looked(tensors: readonly OutputTensor[], bytes: number): readonly OutputTensor[] {
  try {
    return look(tensors, bytes);
  } catch (error) {
    throw new Defect(error);
  }
}

const whole = (() => {
  const json = JSON.stringify({
    outputs: outputs.map((output, index) => ({ ...output, parameters: { binary_data_size: raws[index]?.length } })),
  });
  return { bytes: Buffer.concat([Buffer.from(json), ...raws]), jsonBytes: json.length };
})();
export const inferHttp = throwing([Error], {
  name: 'an infer reply over HTTP',
  sources: ['loadgen/transports/infer-http.ts', 'loadgen/transports/json-tensors.ts'],
  read: (text, bytes) => {
    assert.equal(typeof errorOfBody(text), 'string');
    const lengths = [whole.jsonBytes, whole.jsonBytes + 1, Number.NaN, 0, -1, 1.5, 2 ** 31];
    for (const length of [whole.jsonBytes, lengths[bytes.length % lengths.length] as number]) {
      let tensors: readonly OutputTensor[];
      try {
        tensors = readInferReply(bytes, length);
      } catch {
        continue;
      }
      looked(tensors, bytes.length);
    }
    return 'read';
  },
  seeds: [whole.bytes, '{"outputs":[{"name":"O","datatype":"FP32","shape":[1,2],"data":[1,2]}]}', '{"error":"no"}'],
  words: [...jsonWords, '"outputs":[', '"binary_data_size":', '"datatype":', '"data":['],
});

const streamType = messageType('ModelStreamInferResponse');
const final = { triton_final_response: { bool_param: true } };
const stream = throwing([Error], {
  name: 'a reply on a gRPC stream',
  sources: ['loadgen/transports/stream-reply.ts', 'loadgen/endpoints/text-replies.ts'],
  read: (_, bytes) => {
    const reply = readStreamReply(bytes, (response) => void readTextResponse(response, 'O'));
    if (reply.error.length > bytes.length) throw new Defect(reply);
    return reply;
  },
  seeds: [
    { error_message: 'no', infer_response: {} },
    { infer_response: { model_name: 'm', parameters: final, outputs, raw_output_contents: raws } },
  ].map((each) => streamType.encode(streamType.fromObject(each)).finish()),
});

const events: Parser = {
  name: 'a stream of events',
  sources: [
    'loadgen/endpoints/event-stream-reply.ts',
    'loadgen/endpoints/event-template.ts',
    'loadgen/endpoints/event-lines.ts',
    'loadgen/endpoints/event-endpoint.ts',
    'loadgen/endpoints/whole-reply.ts',
    'loadgen/endpoints/openai-responses.ts',
    'loadgen/endpoints/anthropic-messages.ts',
  ],
  read: (bytes) => {
    assert.equal(typeof errorOfReply(bytes.toString()), 'string');
    const formats = [openAiEvents, responsesApi.events, messagesApi.events, createTritonEvents('text_output')];
    const readers = formats.flatMap((format) => [() => new EventStreamReply(format), () => new WholeReply(format)]);
    return readers.map((create) => {
      const [one, other] = cuts(bytes).map((sizes) => {
        const reply = create();
        reply.begin(0, false);
        lent(bytes, sizes, (buffer, length) => {
          reply.heard(1);
          reply.push(buffer, 0, length);
        });
        return reply.outcome();
      });
      assert.deepEqual(other, one);
      return one;
    });
  },
  seeds: [
    'data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: {"choices":[{"delta":{"content":"b \\n"},"finish_reason":"stop"}]}\n\ndata: {"choices":[],"usage":{"prompt_tokens":4,"completion_tokens":2}}\n\ndata: [DONE]\n\n',
    'data: {"text_output":"a","num_output_tokens":1}\r\n\r\n: comment\r\ndata: {"text_output":["b"],"num_output_tokens":[2]}\r\n\r\n',
    'event: error\ndata: {"error":{"message":"no"}}\n\n',
    'data: {"type":"response.output_text.delta","delta":"a"}\n\ndata: {"type":"response.completed","response":{"usage":{"input_tokens":4,"output_tokens":2}}}\n\n',
    'data: {"type":"message_start","message":{"usage":{"input_tokens":4}}}\n\ndata: {"type":"content_block_delta","delta":{"text":"a"}}\n\ndata: {"type":"message_stop"}\n\n',
    '{"choices":[{"message":{"content":"a"}}],"usage":{"completion_tokens":2}}',
    '{"object":"response","output":[{"content":[{"text":"a"}]}],"usage":{"output_tokens":2}}',
    '{"type":"message","content":[{"text":"a"}],"usage":{"output_tokens":2}}',
  ],
  words: [
    ...jsonWords,
    'data: ',
    '\n\n',
    '\r\n',
    '[DONE]',
    '"choices":',
    '"delta":{"content":',
    '"usage":{"completion_tokens":-1}',
    '"error":',
  ],
};

const metrics: Parser = {
  name: 'a metrics page',
  sources: ['profiler/devices/prometheus.ts', 'profiler/devices/metrics-page.ts'],
  read: (bytes) => {
    const found = deviceMetrics(parsePrometheus(bytes.toString()));
    return meanDeviceMetrics([found, found]);
  },
  seeds: [
    [
      '# HELP nv_gpu_utilization GPU utilization rate [0.0 - 1.0)',
      'nv_gpu_utilization{gpu_uuid="GPU-1"} 0.5',
      'nv_gpu_memory_used_bytes{gpu_uuid="GPU-1",x="a\\"b\\\\c\\n}"} 1.5e9 1700000000',
      'nv_cpu_utilization 0.25',
      'nv_gpu_power_usage{gpu_uuid="GPU-2"} NaN',
      'x_total +Inf',
    ].join('\n'),
  ],
  words: ['{', '}', '"', '\\', '=', ',', ' ', '\t', '\n', '#', 'gpu_uuid="__proto__"', '__proto__="x"', '-Inf'],
};

const state = { failedSoFar: 0, unserved: { sinceNs: 5, message: 'refused' }, due: null };
const agentMessages = (messages: readonly object[]): Uint8Array[] => messages.map((each) => encodeMessage(each));
const toAgent = refusing(['AGENT_FAILED'], {
  name: 'a message to an agent',
  sources: ['loadgen/agents/codec.ts', 'loadgen/agents/protocol.ts', 'loadgen/agents/served-connection.ts'],
  read: (_, bytes) => readToAgent(bytes),
  seeds: agentMessages([
    { type: 'probe', probe: 1 },
    { type: 'open', ask: 1, threads: 1, transport: { protocol: 'grpc', options: { url: 'h:1', timeoutMs: 1 } } },
    { type: 'null-server', ask: 2, protocol: null },
    { type: 'requests', hash: 'ab', bytes: 10 },
    { type: 'piece', bytes: Buffer.alloc(10) },
    { type: 'learn', hash: 'ab', set: 0 },
    { type: 'read-watch', ask: 3 },
    { type: 'thread', thread: 0, message: { type: 'start', flow: 1, startNs: 5 } },
  ]),
});
const toController = refusing(['AGENT_FAILED'], {
  name: 'a message of an agent',
  sources: [
    'loadgen/agents/codec.ts',
    'loadgen/agents/protocol.ts',
    'loadgen/agents/agent-link.ts',
    'loadgen/agents/open-agents.ts',
    'loadgen/agents/agent-thread.ts',
  ],
  read: (_, bytes) => readToController(bytes),
  seeds: agentMessages([
    { type: 'hello', protocol: AGENT_PROTOCOL, version: '0.1.0', cores: 2, wallZeroNs: 1e18 },
    { type: 'probed', probe: 1, atNs: 5 },
    { type: 'answer', ask: 1, value: new Map([[200, 3]]) },
    { type: 'failed', code: 'USAGE', message: 'no', hint: 'yes' },
    { type: 'thread', thread: 0, report: { type: 'state', flow: 1, recording: 1, state } },
  ]),
});

const [open, sealed] = [null, Buffer.alloc(32, 1)].map(fleetCodec);
const payload = { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('{"a":1}') };
const packed = (await open?.encode([payload]))?.[0];
const fleetPayload = throwing([Error], {
  name: "a payload of a fleet's",
  sources: ['fleet/temporal/codec.ts', 'fleet/temporal/follow-study.ts'],
  read: async (_, data) => {
    await sealed?.decode([{ ...packed, data }]).catch(() => undefined);
    return open?.decode([{ ...packed, data }]);
  },
  seeds: [packed?.data ?? ''],
  words: jsonWords,
});

const pageOrder: Parser = {
  name: 'an order on the watch page',
  sources: ['watch/page-controls.ts'],
  read: (bytes) => orderIn(bytes.toString()) ?? undefined,
  seeds: ['{"kind":"pause"}', '{"kind":"budget","latencyMs":5}'],
  words: jsonWords,
};

const accuracyCommand: Parser = {
  name: 'what an accuracy command printed',
  sources: ['app/traffic/accuracy-command.ts'],
  read: (bytes) => findMetric(bytes.toString().trimEnd().split('\n'), 'top1') ?? undefined,
  seeds: ['loaded 50 labels\ntop1 0.761\n', 'top1: 7.6e-1\ndone', '0.5\n', 'top5=0.9\ntop1=-1\n'],
  words: ['top1', ' ', '=', ':', '0.5', 'e-3', '-', '\n'],
};

const serverLog: Parser = {
  name: 'the log of a server',
  sources: [
    'launch/engine-log.ts',
    'launch/log-tail.ts',
    'launch/engine-server.ts',
    'launch/server-process.ts',
    'adapter/variants/build.ts',
  ],
  read: (bytes) => [faultIn(bytes.toString()), lastWords(bytes.toString())],
  seeds: [
    'I0101 started\nE0101 failed: no memory\nUsage: tritonserver [options]\n  --x <integer>\n\nServer:\n\ttext\n',
    'ValueError: KV cache of 8 GiB is larger than needed\nerror: unrecognized arguments: --x\n',
  ],
  words: ['\n', 'KV cache', ' is needed', 'error', 'Usage: tritonserver', 'validation errors for', '\t', 'fatal'],
};

const mouse: Parser = {
  name: "a terminal's reports",
  sources: ['tui/mouse.ts'],
  read: (bytes) => mouseActionsIn(bytes.toString()),
  seeds: ['\u001b[<0;10;5M\u001b[<64;1;1M\u001b[<0;'],
  words: ['\u001b', '[<', ';', 'M', 'm', '9'.repeat(400)],
};

const postedConfig = throwing([ProtocolFailure], {
  name: 'a config that the emulator is told to load',
  sources: ['emulator/profile/posted-config.ts'],
  read: (text) => readPostedConfig({ name: 'm', stored: { name: 'm', backend: 'python' } } as never, text),
  seeds: [
    '{"name":"m","backend":"python","max_batch_size":8,"input":[{"name":"I","data_type":"TYPE_FP32","dims":[4]}],"output":[{"name":"O","data_type":"TYPE_FP32","dims":[4]}],"instance_group":[{"count":2,"kind":"KIND_CPU"}]}',
  ],
  words: [...jsonWords, '"dims":[-1]', '"count":2147483647', '"kind":9', '"data_type":99', '"dynamic_batching":{}'],
});

const openAiRequest = throwing([OpenAiFailure], {
  name: 'a request to an OpenAI endpoint of the emulator',
  sources: ['emulator/language/openai-request.ts'],
  read: (_, bytes) => (bytes.includes('prompt') ? readCompletion(bytes) : readChat(bytes)),
  seeds: [
    '{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],"max_tokens":4,"stream":true}',
    '{"prompt":[1,2,3],"max_tokens":2}',
  ],
  words: [...jsonWords, '"messages":', '"prompt":', '"stop":', '"content":'],
});

const inferTypes = serviceMethod('ModelInfer').requestType;
const emulatedInfer: Parser = {
  name: 'an infer request to the emulator',
  sources: ['emulator/grpc/infer-codec.ts'],
  read: (bytes) => {
    try {
      return readInferRequest(bytes);
    } catch (error) {
      // Text that is not UTF-8 is a TypeError of Node's, with a code.
      if (error instanceof TypeError && !('code' in error)) throw error;
      return undefined;
    }
  },
  seeds: [
    {
      model_name: 'm',
      id: 'x',
      inputs: [{ name: 'IN', datatype: 'FP32', shape: [1, 2] }],
      raw_input_contents: [raws[0]],
    },
    {
      model_name: 'talk',
      inputs: [{ name: 'text_input', datatype: 'BYTES', shape: [1] }],
      raw_input_contents: [raws[1]],
      parameters: { sequence_id: { int64_param: 7 }, sequence_start: { bool_param: true } },
    },
  ].map((message) => inferTypes.encode(inferTypes.fromObject(message)).finish()),
};

const emulatedRequest = throwing([ProtocolFailure, TypeError], {
  name: 'a JSON request to the emulator',
  sources: [
    'emulator/http/request.ts',
    'emulator/wire/text-call.ts',
    'emulator/language/engine-settings.ts',
    'emulator/grpc/front.ts',
  ],
  read: (_, bytes) => {
    const json = parseBodyJson(bytes);
    toTextCall(json, json);
    return changedSettings(engineSettings.parse({}), json);
  },
  seeds: [
    '{"text_input":"a","sampling_parameters":"{\\"max_tokens\\":4}","stream":true}',
    '{"max_num_seqs":4,"gpu_memory_utilization":0.5}',
  ],
  words: [...jsonWords, '"sampling_parameters":', '"max_tokens":', '"max_num_seqs":-1'],
});

/** What comes over the wire, or from a process that was started. */
export const wire: readonly Parser[] = [
  ...[http1, frames, settings, hpack, controlHttp, openAiModels, ...controlGrpc, inferGrpc, inferHttp, stream, events],
  ...[
    metrics,
    toAgent,
    toController,
    fleetPayload,
    pageOrder,
    accuracyCommand,
    serverLog,
    mouse,
    postedConfig,
    openAiRequest,
  ],
  ...[emulatedInfer, emulatedRequest],
];
