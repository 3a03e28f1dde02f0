import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readTimedRequests } from '#app/traffic/schedule.ts';
import { recordedWorkload } from '#app/workload-from-log.ts';
import { traceLines } from '#headless/trace-lines.ts';
import { batchRequests } from '#loadgen/input-data/batch-requests.ts';
import { readStreams } from '#loadgen/input-data/read-streams.ts';
import { modelTensors } from '#loadgen/input-data/tensor-spec.ts';
import { readPromptFile } from '#loadgen/prompts/prompt-file.ts';
import { estimate, openTokenizer } from '#loadgen/prompts/tokenizer.ts';
import { summarizeTraces } from '#profiler/trace-summary.ts';
import { decideGate } from '#report/gate/decide.ts';
import { gateJson, gateJUnit, gateMarkdown } from '#report/gate/documents.ts';
import { readGateDocument } from '#report/gate/readings.ts';
import { readTraces } from '#triton/control/trace-file.ts';
import { readTrace } from '#workload/read-trace.ts';
import { checkRecording, readGridFile } from '../../../lab/recording/recording.ts';
import { modelOf } from '../../loadgen/input-files.ts';
import { inPieces } from '../../support/fuzz.ts';
import { inFile, type Parser, refusing, scratch } from './parser.ts';

export const jsonWords = [
  '{',
  '}',
  '[',
  ']',
  ':',
  ',',
  '"',
  '\\',
  '\\u0000',
  'NaN',
  '-Infinity',
  '1e999',
  '"__proto__":{},',
];

const { metadata, config } = modelOf({
  maxBatchSize: 4,
  inputs: { A: ['FP32', [2, -1]], B: ['BYTES', [1], { optional: true }], C: ['INT64', [2]], D: ['BOOL', [-1, -1]] },
  outputs: { O: ['FP16', [-1]] },
});
export const tensors = modelTensors(metadata, config);

/**
 * Reads requests of the streams, and checks that each tensor has as many bytes as its shape says.
 */
async function requestsOf(path: string): Promise<unknown> {
  const streams = (await readStreams([path], tensors, {})).map((samples) => ({ samples, steps: samples.length }));
  const set = batchRequests('m', streams, true, { batch: 2 });
  for (const { inputs } of set.requests)
    for (const { name, shape, raw } of inputs)
      if (name === 'A') assert.equal(raw.length, 4 * shape.reduce((product, size) => product * size, 1));
  return set;
}

const inputData = refusing(['INPUT_INVALID'], {
  name: 'input data',
  sources: [
    'loadgen/input-data/read-streams.ts',
    'loadgen/input-data/json-data.ts',
    'loadgen/input-data/lenient-json.ts',
  ],
  read: inFile('data.json', requestsOf),
  seeds: [
    '{"data":[{"A":[1,2.5,-3,4],"B":["x"],"C":[9007199254740993,-1],"D":[[true],[0]]},{"A":[1,2.5,-3,4],"B":["x"],"C":[1,-1],"D":[[true],[0]]}]}',
    '{"data":[[{"A":{"content":[[1],[2]],"shape":[2,1]},"C":{"b64":"AAAAAAAAAAABAAAAAAAAAA=="},"D":[[1]]}]],"validation_data":[[{"O":[1,NaN]}]]}',
    '{"data":[{"A":{"b64":"AACAPwAAAEA="},"C":[1,2],"D":[[true,false]],"timestamp":[5],"model":"m"}]}',
  ],
  words: [...jsonWords, '"content":', '"shape":[2,1]', '"b64":"AAAA"', '"data":', '"validation_data":', '[[', ']]'],
  isSlow: true,
});

const inputFolder = scratch('raw');
mkdirSync(join(inputFolder, 'inputs'));
const rawInput = refusing(['INPUT_INVALID'], {
  name: 'raw input data',
  sources: ['loadgen/input-data/directory-data.ts', 'loadgen/input-data/npy-file.ts'],
  read: (_, bytes) => {
    const folder = join(inputFolder, 'inputs');
    const [first = 0] = bytes;
    writeFileSync(join(folder, 'A'), first % 3 === 0 ? bytes : Buffer.alloc(8));
    writeFileSync(join(folder, 'B'), first % 3 === 1 ? bytes : 'x\n');
    writeFileSync(join(folder, 'C'), first % 3 === 2 ? bytes : Buffer.alloc(16));
    writeFileSync(join(folder, 'D'), Buffer.of(1));
    return readStreams([folder], tensors, { D: [1, 1] });
  },
  seeds: [
    Buffer.alloc(16),
    Buffer.from('a'),
    Buffer.from(
      `\x93NUMPY\x01\0\x40\0${"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }".padEnd(63)}\n12345678`,
      'latin1',
    ),
  ],
  words: ['\x93NUMPY', "'descr': '>i8'", "'fortran_order': True", "'shape': (1e9,)", '\x02\0', '\xff\xff'],
  isSlow: true,
});

const traceFile = refusing(['INPUT_INVALID', 'UNSUPPORTED'], {
  name: 'a trace file',
  sources: ['triton/control/trace-file.ts', 'app/study/read-traces.ts', 'app/target/triton/traced-calls.ts'],
  read: async (_, bytes) => {
    async function* chunks(): AsyncGenerator<Uint8Array> {
      yield* inPieces(bytes, [1 + (bytes[0] ?? 0) / 4, 7, 40]);
    }
    const summary = summarizeTraces(await readTraces([{ name: 'f', chunks: chunks() }]));
    assert.doesNotMatch(traceLines(summary, true).join('\n'), /undefined|\[object/);
    return summary;
  },
  seeds: [
    `[{"id":1,"model_name":"a","model_version":1,"request_id":"r"},{"id":1,"timestamps":[{"name":"REQUEST_START","ns":10}]},
{"id":1,"timestamps":[{"name":"COMPUTE_START","ns":12},{"name":"COMPUTE_END","ns":15}]},{"id":2,"model_name":"b","parent_id":1}]`,
    '[{"id":3,"model_name":"c"},{"id":3,"timestamps":[{"name":"REQUEST_START","ns":1}]},{"id":4,"tensor":{"name":"}","data":"[\\"]"}}]',
  ],
  words: [
    ...jsonWords,
    '"id":1',
    '"parent_id":2',
    '"timestamps":[',
    '"resourceSpans":',
    '"traceId"',
    '"activity":"TENSOR"',
  ],
});

const spread = { value: 10, low: 9, high: 11 };
const gateDocuments = [
  {
    schemaVersion: 1,
    model: 'm',
    emulated: null,
    budget: { percentile: 99, latencyMs: 5 },
    feasible: true,
    best: {
      load: { mode: 'concurrency', value: 4 },
      throughput: spread,
      budgetLatencyMs: { ...spread, percentile: 99 },
    },
  },
  {
    schemaVersion: 1,
    model: 'm',
    server: { emulated: 'demo' },
    levels: [
      {
        level: { mode: 'request-rate', value: 2.5 },
        throughput: spread,
        stable: true,
        client: { bound: false },
        budgetLatencyMs: { ...spread, percentile: 95 },
      },
    ],
  },
].map((document) => JSON.stringify(document));
const earlier = readGateDocument(gateDocuments[0] as string, 'before');
const gate = refusing(['INPUT_INVALID'], {
  name: 'a document for the gate',
  sources: ['report/gate/readings.ts', 'cli/commands/run-compare.ts'],
  read: (text) => {
    const after = readGateDocument(text, 'f');
    const rule = { tolerance: 0.05, confidence: 0.95, mustSee: 0.1 };
    for (const decision of [decideGate([earlier], [after], rule), decideGate([after], [earlier], rule)])
      for (const write of [gateJson, gateJUnit, gateMarkdown]) assert.notEqual(write(decision), '');
    return after;
  },
  seeds: gateDocuments,
  words: jsonWords,
});

const grid = checkRecording(readGridFile(join(import.meta.dirname, '../../../lab/grids/sleeper-2core.json')), 'grid');
const recording = refusing(['INPUT_INVALID'], {
  name: 'a recording',
  sources: ['lab/recording/recording.ts'],
  read: inFile('grid.json', (path) => checkRecording(readGridFile(path), path)),
  seeds: [JSON.stringify({ ...grid, candidates: grid.candidates.slice(0, 2) })],
  words: jsonWords,
  isSlow: true,
});

const times = refusing(['INPUT_INVALID', 'USAGE'], {
  name: 'a file of times',
  sources: ['loadgen/arrival-files.ts'],
  read: (() => {
    const sources = [
      (path: string) => ({ requestIntervals: path }),
      (path: string) => ({ arrivalTrace: path }),
      (path: string) => ({ fixedSchedule: true, inputData: [path] }),
    ];
    let turn = 0;
    return inFile('times', async (path) => {
      const source = sources[turn++ % sources.length] as (typeof sources)[0];
      const timed = await readTimedRequests({ traceSpeed: 1, ...source(path) });
      if (!timed) return 'none';
      assert.ok(timed.perSecond > 0);
      const { schedule } = timed;
      const timesNs = 'gapsNs' in schedule ? schedule.gapsNs : 'arrivalsNs' in schedule ? schedule.arrivalsNs : [];
      assert.ok(timesNs.every((ns) => Number.isFinite(ns) && ns >= 0));
      return timed;
    });
  })(),
  seeds: ['# us\n100\n\n 250.5 # more\n0\n1e3\r\n', '1\n2\n3\n'],
  words: ['1e999', '-1', '#', '\n', '0x10', '1e308', '[', ']', '{"data":[{"timestamp":[0]},', '{"__proto__":1}', ','],
  isSlow: true,
});

const logs = refusing(['INPUT_INVALID', 'UNSUPPORTED'], {
  name: 'a log of requests',
  sources: [
    'app/workload-from-log.ts',
    'app/counter-files.ts',
    'workload/log-line.ts',
    'workload/read-log.ts',
    'workload/trace-reader.ts',
    'base/records.ts',
  ],
  read: inFile('log', async (path) => {
    const workload = await recordedWorkload([path], { mostClasses: 4 });
    for (const { durationS } of workload.phases) assert.ok(durationS === null || durationS >= 0);
    return workload;
  }),
  seeds: [
    '10.0.0.1 - - [10/Oct/2023:13:55:36 +0000] "POST /v2/models/a/infer HTTP/1.1" 200 2326\n10.0.0.1 - - [10/Oct/2023:13:55:38 +0000] "POST /v2/models/b/infer HTTP/1.1" 200 2\n10.0.0.2 - u [10/Oct/2023:13:55:39 +0000] "GET / HTTP/1.1" 200 2 "-" "c"\n',
    '{"time":"2023-10-10T13:55:36Z","model":"a"}\n{"time":"2023-10-10T13:55:37.5Z","model":"b"}\n{"time":"2023-10-10T13:55:39Z","model":"b"}\n',
    'timestamp,path\n1,/v2/models/a/infer\n2.5,"/v2/models/b/infer"\n4,x\n',
    '1\n2\n3.5\n',
    '{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"nv_inference_request_success","model":"m"},"values":[[0,"1"],[15,"20"],[30,"60"]]}]}}',
    '# HELP nv_inference_request_success x\nnv_inference_request_success{model="m",version="1"} 5 1700000000000\nnv_inference_request_success{model="m",version="1"} 25 1700000015000\n',
    '[{"id":1,"model_name":"a","model_version":1},{"id":1,"timestamps":[{"name":"REQUEST_START","ns":10}]},{"id":2,"model_name":"a","model_version":1},{"id":2,"timestamps":[{"name":"REQUEST_START","ns":1000000010}]}]',
  ],
  words: [
    '[10/Oct/2023:13:55:36 +0000]',
    '1e18',
    '"time":',
    '1970-01-01',
    ',',
    '"',
    '\n',
    '# ',
    '/v2/models/x/infer',
    '"values":[[0,"NaN"]]',
    '1e308',
  ],
  isSlow: true,
});

const trace = refusing(['INPUT_INVALID'], {
  name: 'a trace of arrivals',
  sources: ['workload/read-trace.ts', 'workload/trace-reader.ts', 'base/records.ts', 'base/csv.ts'],
  read: inFile('trace.csv', (path) => readTrace(path, { classColumn: 'class' }, ['a', 'b'])),
  seeds: [
    'time,class\n0,a\n1.5,b\n3,a\n',
    '{"timestamp":"2023-10-10T13:55:36Z","class":"a"}\n{"timestamp":"2023-10-10T13:55:37Z","class":"b"}\n',
  ],
  words: [',', '"', 'class', 'time', '1e308', '-1', '{', '}', '[', '\n'],
  isSlow: true,
});

const prompts = refusing(['INPUT_INVALID'], {
  name: 'a file of prompts',
  sources: ['loadgen/prompts/prompt-file.ts', 'loadgen/prompts/pictures.ts', 'base/records.ts'],
  read: inFile('prompts.json', (path) =>
    readPromptFile(
      path,
      { outputTokens: null, prompts: 5, sessions: true, thinkMs: null, slice: null, ignoresEnd: null, seed: 1 },
      estimate,
    ),
  ),
  seeds: [
    '[{"id":"1","conversations":[{"from":"human","value":"hello"},{"from":"gpt","value":"there"},{"from":"human","value":"again"}]}]',
    '{"prompt":"hello there","output_tokens":9}\n{"text":"x","output_length":3}\n{"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"max_tokens":4}\n',
    '{"timestamp":0,"input_length":100,"output_length":20,"hash_ids":[1,2]}\n{"timestamp":50,"input_length":30,"output_length":2,"hash_ids":[1]}\n',
    'Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n1,GPT,10,20,30,Conversation log\n2,GPT,5,6,11,API log\n',
    'TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:50.9951690,396,109\n',
    'one text\n\nand another, with: signs\n',
    '{"data":[{"session_id":"a","delay":5,"payload":[{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBO"}}]}]}]},{"session_id":"a","payloads":[{"messages":[{"role":"user","content":"again"}]}]}]}',
    '{"text":"x","images":["https://example.org/a.png","data:image/gif;base64,R0lG"]}\n',
  ],
  words: [
    ...jsonWords,
    '"image":"a.png"',
    '"session_id":',
    '"conversations":',
    '"messages":',
    '"content":',
    '"input_length":1e15',
    '"hash_ids":[',
    '"prompt":',
    ',',
  ],
  isSlow: true,
});

const tokenizer = refusing(['INPUT_INVALID'], {
  name: 'a tokenizer.json',
  sources: ['loadgen/prompts/tokenizer.ts'],
  read: inFile('tokenizer.json', async (path) => {
    const { count } = await openTokenizer(path, 1000);
    return count('hello the world');
  }),
  seeds: [
    JSON.stringify({
      version: '1.0',
      added_tokens: [{ id: 0, content: '<unk>', special: true }],
      normalizer: { type: 'Lowercase' },
      pre_tokenizer: { type: 'Whitespace' },
      post_processor: null,
      decoder: null,
      model: {
        type: 'WordPiece',
        unk_token: '<unk>',
        continuing_subword_prefix: '##',
        max_input_chars_per_word: 100,
        vocab: { '<unk>': 0, one: 1, two: 2, hello: 3, the: 4 },
      },
    }),
    JSON.stringify({
      version: '1.0',
      added_tokens: [],
      normalizer: null,
      pre_tokenizer: { type: 'Split', pattern: { Regex: '\\s+' }, behavior: 'Isolated', invert: false },
      post_processor: null,
      decoder: null,
      model: {
        type: 'BPE',
        dropout: null,
        unk_token: null,
        vocab: { o: 0, n: 1, e: 2, on: 3, one: 4, t: 5, w: 6, ' ': 7 },
        merges: ['o n', 'on e'],
      },
    }),
  ],
  words: [
    ...jsonWords,
    '"Regex":"(a+)+$"',
    '"type":"ByteLevel"',
    '"merges":',
    '"vocab":',
    '"type":"Unigram"',
    '"Sequence"',
    'null',
  ],
  isSlow: true,
});

/** Data for requests, and what others measured. */
export const data: readonly Parser[] = [
  ...[inputData, rawInput, traceFile, gate, recording, times, logs, trace, prompts, tokenizer],
];
