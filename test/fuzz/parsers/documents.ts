import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readLaunchCommand } from '#adapter/engine/launch-command.ts';
import { readObservation } from '#app/explain/observation.ts';
import { parseSeries } from '#app/explain/read-prometheus.ts';
import { readSavedPages } from '#app/explain/saved-pages.ts';
import { readPrices } from '#app/study/cost-terms.ts';
import { readCandidates } from '#app/study/read-candidates.ts';
import { readProposal } from '#app/study/read-priors.ts';
import { readSpec } from '#app/study/read-spec.ts';
import { readSettings } from '#app/target/triton/served-settings.ts';
import { canonicalJson } from '#base/json.ts';
import { readAnalyzerFile } from '#cli/model-analyzer/read-file.ts';
import { translate } from '#cli/model-analyzer/translate.ts';
import { parseProfile } from '#emulator/profile/profiles.ts';
import { readResultTable } from '#emulator/profile/result-table.ts';
import { readTokenTable } from '#emulator/profile/token-table.ts';
import { type CounterName, counterMetrics, toInstanceReadings } from '#explain/prometheus-readings.ts';
import { readServed } from '#explain/readings.ts';
import { argumentsForConfigs } from '#launch/model-arguments.ts';
import { levelsToFit } from '#queueing/calibration/held-out.ts';
import { readStatedSpaces } from '#space/joint/given-spaces.ts';
import { toOriginal } from '#space/model-configs.ts';
import { compileSpace } from '#space/source/compile.ts';
import { inherit } from '#space/source/inherit.ts';
import { spaceFromJson, spaceToJson } from '#space/source/load.ts';
import { readSource } from '#space/source/source.ts';
import { filledOptions } from '#spec/flat-options.ts';
import { profileOptions } from '#spec/profile-spec.ts';
import { readSpecChange, withChange } from '#spec/spec-change.ts';
import { studyDocument } from '#spec/spec-of-options.ts';
import { viewSpace } from '#study/search/samplers/space-view.ts';
import { parseConfigText } from '#triton/config/parser.ts';
import { printConfigText } from '#triton/config/printer.ts';
import { validateConfig } from '#triton/config/validation.ts';
import { parseWorkload } from '#workload/read-workload.ts';
import { anExplanation } from '../../explain/documents.ts';
import { originalConfig } from '../../study/builders.ts';
import { inFile, type Parser, refusing, scratch } from './parser.ts';

const root = join(import.meta.dirname, '../../..');
const filesIn = (folder: string, ending = ''): string[] =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(ending))
    .map((name) => readFileSync(join(root, folder, name), 'utf8'));

export const yamlWords = [
  ...[': ', '- ', '{', '}', '[', ']', ', ', '"', "'", '|', '>', '#', '? ', '---\n', '...\n', '%YAML 1.1\n---\n', '\t'],
  ...['&a ', '*a', '!!js/function ', '!foo ', '!!set ', '!!binary ', '!!omap ', '!!timestamp ', '!<x> ', '<<: ', '@'],
  ...['__proto__: {polluted: 1}', 'constructor: {prototype: {polluted: 1}}', '2001-01-01', '.inf', '.nan', '1:30', '~'],
];

const base = spaceFromJson({
  name: 'small',
  parameters: { max_batch_size: [1, 4, 8], instances: [1, 2], 'parameters.threads': ['1', '2'] },
});
const view = viewSpace(base, toOriginal(originalConfig));

const counters = (requests: number, ms: number): object => {
  const [count, ns] = [requests, requests * ms * 1e6];
  const none = { count: 0, ns: 0 };
  const parts = { computeInput: none, computeInfer: { count, ns }, computeOutput: none };
  return {
    name: 'm',
    version: '1',
    lastInferenceMs: 0,
    inferenceCount: count,
    executionCount: count,
    success: { count, ns: 2 * ns },
    fail: none,
    queue: { count, ns },
    ...parts,
    cacheHit: none,
    cacheMiss: none,
    batchStats: [{ batchSize: 1, ...parts }],
    memoryUsage: [],
  };
};

export const keptReadings = refusing(['INPUT_INVALID'], {
  name: 'readings that explain kept',
  sources: ['app/explain/read-json.ts'],
  isSlow: true,
  seeds: [
    JSON.stringify({
      schemaVersion: 1,
      at: '2026-11-30T00:00:00.000Z',
      server: { name: 'triton', version: '2.51.0', url: 'localhost:8001' },
      configs: { m: originalConfig },
      readings: [0, 1, 2].map((at) => ({ atNs: 1e9 * at, statistics: [counters(60 * at, 5)] })),
    }),
  ],
  words: ['"max_batch_size":4', '"dynamic_batching":{}', '"sequence_batching":{}', '1e300', '9007199254740993', 'null'],
  read: inFile('observation.json', (path) => readObservation(dirname(path))),
});

const explanation = refusing(['INPUT_INVALID'], {
  name: 'what explain proposed',
  sources: ['app/explain/read-json.ts'],
  seeds: [JSON.stringify(anExplanation)],
  words: ['"proposal":null', '"latencyMs":null', '"model":"detector"', '1e300', 'null', '-1'],
  read: inFile('explain.json', (path) => readProposal(path, 'detector')),
});

const prometheus = refusing(['SERVER_FAILED'], {
  name: 'an answer of Prometheus',
  sources: ['app/explain/read-prometheus.ts'],
  seeds: [
    JSON.stringify({
      status: 'success',
      data: {
        resultType: 'matrix',
        result: ['1', '2'].map((version) => ({
          metric: { __name__: 'nv_inference_count', instance: 'a:8002', model: 'm', version },
          values: [
            [1_700_000_000, '10'],
            [1_700_000_015.5, '25'],
            [1_700_000_030, '70'],
          ],
        })),
      },
    }),
  ],
  words: ['"NaN"', '"+Inf"', '"1e308"', '"-1"', '"instance":"b"', '1e300', 'null', '[]'],
  read: (text) => {
    const names = Object.keys(counterMetrics) as CounterName[];
    return toInstanceReadings(names.flatMap((name) => parseSeries(name, text))).map(({ readings }) =>
      readings.length < 2 ? null : readServed(readings),
    );
  },
});

const savedPages = refusing(['INPUT_INVALID'], {
  name: 'a saved page of metrics beside others',
  sources: ['app/explain/saved-pages.ts', 'app/counter-files.ts'],
  isSlow: true,
  seeds: [
    ['success', 'inferences', 'executions', 'requestUs', 'queueUs', 'inferUs']
      .map((counter, index) => `${counterMetrics[counter as CounterName]}{model="m",version="1"} ${100 * (index + 2)}`)
      .join('\n'),
  ],
  words: [
    '1e308',
    '-1',
    'NaN',
    '+Inf',
    '{model="m",version="2"}',
    ' 1700000000000',
    ` -${'9'.repeat(99)}`,
    'nv_inference_count',
  ],
  read: inFile('1764580015.prom', (path) => {
    writeFileSync(join(dirname(path), '1764580000.prom'), `${counterMetrics.success}{model="m",version="1"} 10\n`);
    return readSavedPages(dirname(path)).then(({ readings }) => readServed(readings));
  }),
});

const space = refusing(['SPACE_INVALID'], {
  name: 'a search space',
  sources: [
    'space/source/source.ts',
    'space/source/load.ts',
    'space/source/compile.ts',
    'base/yaml.ts',
    'base/read-document.ts',
  ],
  read: (text) => {
    const compiled = compileSpace(inherit([readSource('my.yaml', text)]));
    assert.deepEqual(spaceToJson(spaceFromJson(spaceToJson(compiled))), spaceToJson(compiled));
    const seen = viewSpace(compiled, toOriginal(originalConfig));
    for (const assignment of seen.assignments()) {
      seen.build(assignment);
      break;
    }
    return compiled;
  },
  seeds: [
    'parameters:\n  instances: { range: [1, 4] }\n  max_batch_size: { powers: [1, 128] }\nlimits: { cores: 4 }\n',
    'parameters:\n  queue_delay_us:\n    values: [0, 100]\n    when: { max_batch_size: { above: 1 } }\n  max_batch_size: [1, 8]\n',
    'rules:\n  - { require: "instances * 2 <= limits.cores", message: no }\nlimits: { cores: null }\nparameters: { instances: [1] }\n',
    'parameters:\n  x:\n    choices: { a: { optimization.cuda.graphs: on }, b: { max_batch_size: 4 } }\n',
    'parameters:\n  x:\n    path: parameters.threads\n    cases:\n      - { when: { device: cpu }, values: [1, 2] }\n      - { range: [0.5, 2], step: 0.5 }\n',
  ],
  words: [
    ...['instances', 'max_batch_size', 'values', 'range', 'powers', 'choices', 'cases', 'when', 'any', 'not', 'drop'],
    ...['path', 'limits', 'rules', 'require', 'device', 'base.max_batch_size', '[1e300, 1]', '[-1e308, 1e308]'],
    ...yamlWords,
  ],
});

const jointSpace = refusing(['SPACE_INVALID'], {
  name: 'a search space of several models',
  sources: ['space/joint/given-spaces.ts', 'space/source/variant-content.ts', 'space/source/load.ts'],
  read: inFile('joint.yaml', (path) => readStatedSpaces(path)),
  seeds: [
    'members:\n  a: { parameters: { instances: [1, 2] } }\nothers: { parameters: { max_batch_size: [1] } }\nlimits: { cores: 4 }\nrules: [{ require: "a.instances <= limits.cores", message: no }]\n',
    'parameters: { instances: [1] }\nvariants: { int8: { files: { 1/model.py: joint.yaml } } }\n',
  ],
  words: [
    ...['members', 'others', 'extends: joint.yaml', 'extends: ../x', 'variants', 'files', 'build', 'command'],
    ...yamlWords,
  ],
  isSlow: true,
});

const profile = refusing(['PROFILE_INVALID'], {
  name: 'an emulator profile',
  sources: ['emulator/profile/profiles.ts', 'emulator/profile/schema.ts', 'adapter/twin/twin.ts'],
  read: (text) => parseProfile(text, 'my.yaml'),
  seeds: [
    `name: s
description: d
source: t
device: { kind: cpu, name: c, memory_mib: 99 }
models:
  - config: { name: m, backend: python, max_batch_size: 8, input: [{ name: I, data_type: TYPE_FP32, dims: [4] }], output: [{ name: O, data_type: TYPE_FP32, dims: [4] }] }
    law: { execution_ms: [[1, 2.5], [8, 3]], cv: 0.1, interference: { per_instance: 0.1 } }
    arms: [{ name: a, when: { dynamic_batching: null }, scale: 2 }]
    load: { full_s: 0.1, add_s: 0, remove_s: 0 }
`,
  ],
  words: [
    ...['law', 'config', 'arms', 'when', 'faults: { load: [{ what: hang }] }', 'ensembles', 'drift', '[[1, 1]]'],
    ...yamlWords,
  ],
});

const analyzer = refusing(['INPUT_INVALID', 'UNSUPPORTED'], {
  name: "a file of Model Analyzer's",
  sources: ['cli/model-analyzer/read-file.ts'],
  read: inFile('analyzer.yaml', (file) =>
    translate(readAnalyzerFile(file), { protocol: undefined, percentile: undefined, models: undefined }),
  ),
  seeds: [
    'profile_models: [a, b]\nconcurrency: 1,2,4\nbatch_sizes: { start: 1, stop: 8 }\nlatency_budget: 5\n',
    'profile_models:\n  net:\n    model_config_parameters: { max_batch_size: [1, 4], instance_group: [{ kind: KIND_CPU, count: [1, 2] }] }\n    parameters: { concurrency: [1, 8] }\n',
    'profile_models: net\nperf_analyzer_flags: { percentile: 95, shape: [a:1], input-data: zero, streaming: true }\nclient_protocol: http\n',
    'profile_models: {net: {objectives: [perf_throughput], constraints: {perf_latency_p99: {max: 20}}}}\nrun_config_search_mode: quick\nrun_config_search_max_instance_count: 3\n',
  ],
  words: [
    ...['profile_models', 'concurrency', 'request_rate', 'parameters', 'objectives', 'constraints', 'max', 'min'],
    ...['run_config_search_max_instance_count: 9007199254740991', 'run_config_search_max_model_batch_size: 1e15'],
    ...['ssl-https-verify-peer: 0', 'sequence-id-range: 1:2', 'perf_analyzer_flags', '<<: *a', ...yamlWords],
  ],
  isSlow: true,
});

const candidates = refusing(['INPUT_INVALID'], {
  name: 'a list of candidates',
  sources: ['app/study/read-candidates.ts'],
  read: inFile('candidates.yaml', (file) => readCandidates(file, view)),
  seeds: [
    '- { max_batch_size: 4, instances: 2 }\n- { parameters.threads: "2" }\n- {}\n',
    '[{"max_batch_size": 8, "instances": 1}, {"instances": 2}]',
  ],
  words: ['max_batch_size', 'instances', '{}', '[]', '- {instances: 1}\n', ...yamlWords],
  isSlow: true,
});

const spec = refusing(['INPUT_INVALID', 'USAGE'], {
  name: 'a study spec',
  sources: ['app/study/read-spec.ts', 'spec/study-spec.ts', 'spec/series-spec.ts'],
  read: inFile('study.yaml', readSpec),
  seeds: [
    'model: m\nserver: { url: "h:1", protocol: grpc, tokenEnv: T }\ngoal: { latencyBudgetMs: 5, constraints: [gpu-memory<=8GiB] }\nlevels: { concurrency: { low: 1, high: 8 } }\n',
    'studies: [{ model: a, limits: { maxTrials: 3, timeBudgetSeconds: 60 } }, { model: b, traffic: { batch: 2, shape: { IN: [1, 2] } }, space: { parameters: { instances: [1] } } }]\n',
  ],
  words: [
    'specVersion: 1',
    'model',
    'server',
    'goal',
    'levels',
    'values: [1e999]',
    'traffic',
    'studies',
    'together',
    'prompts',
    'workloads',
    ...yamlWords,
  ],
  isSlow: true,
});

const specChange = refusing(['USAGE'], {
  name: 'a field of a study spec, as for --set',
  sources: ['spec/spec-change.ts'],
  read: (text) => {
    const changed = withChange({ model: 'm', limits: { maxTrials: 3 } }, readSpecChange(text, studyDocument));
    assert.equal(Object.getPrototypeOf(changed), Object.prototype);
    return changed;
  },
  seeds: [
    'limits.maxTrials=20',
    'goal.constraints=[gpu-memory<=8GiB]',
    'goal.modelBudgetsMs.a=8',
    'levels.concurrency={low: 1, high: 8}',
    'space={extends: python}',
  ],
  words: ['limits.', 'server.header', 'server', '=', '.', '=null', '__proto__', 'constructor', ...yamlWords],
});

const optionChange = refusing(['USAGE'], {
  name: 'a field of a profile, as for --set',
  sources: ['spec/flat-options.ts'],
  read: (text) => {
    const filled = filledOptions<object>({ batch: 2 }, profileOptions, [readSpecChange(text, profileOptions)]);
    assert.equal(Object.getPrototypeOf(filled), Object.prototype);
    return filled;
  },
  seeds: [
    'traffic.batch=8',
    'levels.concurrencyRange={start: 1, end: 16, step: 5}',
    'traffic.shape.x=[3, 4]',
    'traffic.extraInputs.temperature=0',
    'prompts.inputTokens={kind: constant, value: 8}',
  ],
  words: ['traffic.', 'server.header', 'levels', '=', '.', '=null', '__proto__', 'constructor', ...yamlWords],
});

const prices = refusing(['INPUT_INVALID'], {
  name: 'a file of prices',
  sources: ['app/study/cost-terms.ts'],
  read: inFile('prices.yaml', readPrices),
  seeds: [readFileSync(join(root, 'examples/prices.yaml'), 'utf8')],
  words: ['perHour', 'gpus', 'slices', 'share', 'currency', 'instanceTypes', ...yamlWords],
  isSlow: true,
});

const engineSettings = refusing(['INPUT_INVALID'], {
  name: "a model.json of an engine's settings",
  sources: ['app/target/triton/served-settings.ts'],
  read: inFile('model.json', (path) => canonicalJson(readSettings(path))),
  seeds: ['{"model":"facebook/opt","max_num_seqs":8,"nested":{"a":[1,null,"x"]}}'],
  words: ['{', '}', '[', ']', ':', ',', '"__proto__":{}', '1e999', '"max_num_seqs":'],
  isSlow: true,
});

const options = join(scratch('engine'), 'options.yaml');
const launchOptions = refusing(['USAGE'], {
  name: 'an options file of an engine',
  sources: ['adapter/engine/launch-command.ts'],
  read: inFile('options.yaml', (path) =>
    canonicalJson(readLaunchCommand(`serve --config {config:${path}} {port}`).originalSettings as never),
  ),
  seeds: ['max_num_seqs: 8\nenable_prefix_caching: true\nkv: { dtype: fp8, list: [1, 2] }\n', '{"a": 1}'],
  words: yamlWords,
  isSlow: true,
});

const launchCommand = refusing(['USAGE'], {
  name: 'a launch command',
  sources: ['adapter/engine/command-words.ts', 'adapter/engine/launch-command.ts'],
  read: (text) => readLaunchCommand(`${text} {port}`),
  seeds: ['vllm serve "a model" --max-num-seqs 8 --no-x --y=z {flags}', `a 'b c'\\ d --config {config}`],
  words: ['"', "'", '\\', '{port}', '{flags}', '{config}', `{config:${options}}`, '--', '--no-', '=', ' '],
});

const folder = join(root, 'test/fixtures/configs');
const configText = refusing(['CONFIG_INVALID'], {
  name: 'a config.pbtxt',
  sources: [
    'triton/config/parser.ts',
    'triton/config/lexer.ts',
    'triton/config/strings.ts',
    'triton/config/config-file.ts',
  ],
  // What was read prints as what reads the same, and everybody who looks at it can.
  read: (text) => {
    const { config, unknownFields } = parseConfigText(text, 'config.pbtxt');
    const printed = printConfigText(config, { unknownFields });
    assert.equal(canonicalJson(parseConfigText(printed, 'printed').config), canonicalJson(config));
    for (const { path, reason } of validateConfig(config)) assert.notEqual(`${path}${reason}`, '');
    return config;
  },
  seeds: readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8')),
  words: [
    ...['{', '}', '[', ']', '<', '>', ':', ',', ';', '-', '"', "'", '\\', '#', '/', '.', ' ', '\\x', '\\u12', '\\777'],
    ...['input', 'name', 'dims', 'parameters', 'key: "__proto__"', 'value', 'TYPE_FP32', 'version_policy', 'new_field'],
    ...['new_field { a: 1 }', '[ext.name] { }', 'new_field: [1, "a", { b: <c: nan> }]', 'inf', 'true', '0x1F', '017'],
  ],
});

const modelFiles = inFile('config.pbtxt', (path) =>
  argumentsForConfigs(dirname(dirname(path)), [dirname(path).split('/').at(-1) as string]),
);
const repository: Parser = {
  name: 'a model of a repository',
  sources: ['launch/model-arguments.ts'],
  read: (bytes) => modelFiles('', bytes),
  seeds: [
    'backend: "python" input { name: "I" data_type: TYPE_FP32 dims: 1 } output { name: "O" data_type: TYPE_FP32 dims: 1 }',
  ],
  words: ['platform: "ensemble"', 'ensemble_scheduling { step { model_name: "x" } }', 'default_model_filename: "../x"'],
  isSlow: true,
};

const workload = refusing(['INPUT_INVALID'], {
  name: 'a workload file',
  sources: ['workload/read-workload.ts', 'workload/check-workload.ts'],
  read: (text) => parseWorkload(text, join(root, 'examples/workloads', 'my.yaml')),
  seeds: filesIn('examples/workloads', '.yaml'),
  words: [
    ...['phases', 'classes', 'arrivals', 'process: poisson', 'rate', 'durationS', 'mix', 'trace', 'file: /etc/passwd'],
    ...[
      'file: ../../x',
      'slice: { fromS: 0, toS: 1 }',
      'atS: [0, 1e308, -1]',
      'classOf: [0]',
      'sessions',
      ...yamlWords,
    ],
  ],
});

const tokenTable = refusing([], {
  name: 'a table of a language model',
  sources: ['emulator/profile/token-table.ts'],
  read: (text) => {
    const series = readTokenTable(text) ?? [];
    for (const { inputTokens, outputTokens, rows } of series) {
      for (const { concurrency, ttftMs, tpotMs } of rows)
        assert.ok([inputTokens, outputTokens, concurrency, ttftMs, tpotMs].every((value) => value > 0));
    }
    return series;
  },
  seeds: [
    'id,backend,isl,osl,concurrency,silicon_ttft_ms,silicon_tpot_ms\na,"vllm, 0.9",1024,512,8,120,11\nb,trtllm,1024,512,4,90,10\n',
    'max_concurrency,random_input_len,random_output_len,mean_ttft_ms,mean_tpot_ms\r\n16,800,200,50,9\r\n',
  ],
  words: [',', '"', 'isl', 'osl', 'ttft', 'tpot', 'concurrency', '1e308', '-1', '0.5', 'NaN', '__proto__', '\r\n'],
});

const resultTable = refusing(['INPUT_INVALID'], {
  name: 'a table of results',
  sources: [
    ...['emulator/profile/result-table.ts', 'emulator/profile/console-levels.ts'],
    ...['base/csv.ts', 'cli/commands/run-calibrate.ts'],
  ],
  read: (text) => {
    const setUps = readResultTable(text, 'f.csv', 1);
    for (const { rows } of setUps) {
      levelsToFit(rows);
      for (const { concurrency, inferPerSecond, latencyMs } of rows)
        assert.ok([concurrency, inferPerSecond, latencyMs.p50, latencyMs.mean].every(Number.isFinite));
    }
    return setUps;
  },
  seeds: [
    'gpu,backend,instances,batch,concurrency,inferences_per_s,server_queue_ms,server_compute_input_ms,server_compute_infer_ms,server_compute_output_ms,p50_ms,avg_ms\nt4,pytorch,2,16,1,1900,0.1,0.2,7.2,0.1,8.3,8.4\na30,"x, ""y""",2,16,8,3264,13.9,0.8,8.9,14.2,43.8,38.5\n',
    'Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Server Compute Input,Server Compute Infer,Server Compute Output,Client Recv,p50 latency\r\n4,800,0,300,1000,10,2000,20,0,3200\r\n',
    'Request concurrency: 8\n  Client: \n    Throughput: 146.657 infer/sec\n    p50 latency: 54562 usec\n    Avg HTTP time: 54486 usec (send/recv 8 usec + response wait 54478 usec)\n  Server: \n    Avg request latency: 54268 usec (overhead 193 usec + queue 40001 usec + compute input 9914 usec + compute infer 4112 usec + compute output 48 usec)\n',
    'trial,role,final_round,chosen,instances,load_mode,load_value,throughput_infer_per_s,latency_avg_ms,latency_p50_ms,client_bound\n0,baseline,,true,1,concurrency,4,400,10,9,false\n',
  ],
  words: [
    ',',
    '"',
    '""',
    '\n',
    '\r\n',
    '\r',
    '__proto__,',
    'constructor',
    'load_mode',
    'chosen',
    '1e308',
    '1e15',
    '| a |',
  ],
});

/** Those that YAML is read for, and that refuse what is no file of theirs. */
export const yamlFiles: readonly Parser[] = [
  space,
  jointSpace,
  profile,
  analyzer,
  candidates,
  spec,
  specChange,
  optionChange,
  prices,
  engineSettings,
  launchOptions,
];

/** Files that people write, or get from others. */
export const documents: readonly Parser[] = [
  ...[...yamlFiles, launchCommand, configText, repository, workload, resultTable, tokenTable],
  ...[keptReadings, explanation, prometheus, savedPages],
];
