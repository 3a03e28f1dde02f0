import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { chooseLevels, toGoal } from '#app/study/goal.ts';
import type { JsonObject } from '#base/json.ts';
import { type SeriesFlags, seriesOptionTable } from '#cli/commands/tune/series-options.ts';
import { withAnalyzerFile } from '#cli/model-analyzer/apply.ts';
import { addOptions } from '#cli/options/option-table.ts';
import { toModelConfig, toOriginal } from '#space/model-configs.ts';
import { spaceFromJson } from '#space/source/load.ts';
import { modelsIn } from '#spec/series-fields.ts';
import { optionsFor, toStudyOrSeries } from '#spec/series-options.ts';
import { toSpec } from '#spec/spec-of-options.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import { viewSpace } from '#study/search/samplers/space-view.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';

const directory = await mkdtemp(join(tmpdir(), 'tritune-analyzer-'));
let files = 0;

/** The run that the YAML and the command line ask for together. */
async function runOf(yaml: string, ...args: string[]) {
  const file = join(directory, `${++files}.yaml`);
  await writeFile(file, yaml);
  const command = addOptions(new Command(), seriesOptionTable)
    .exitOverride()
    .parse(['--model-analyzer-config', file, ...args], { from: 'user' });
  const given = new Set(Object.keys(seriesOptionTable).filter((key) => command.getOptionValueSource(key) === 'cli'));
  const told: string[] = [];
  const tell = (line: string): void => void told.push(line.replace(`${file}: `, ''));
  const options = withAnalyzerFile(command.opts<SeriesFlags>(), given, { tell });
  return { options, told, models: modelsIn(options), of: (model: string) => toSpec(optionsFor(options, model)) };
}

const only = async (yaml: string, ...args: string[]): Promise<StudySpec> => (await runOf(yaml, ...args)).of('net');

const faultOf = (yaml: string, ...args: string[]): Promise<string> =>
  runOf(yaml, ...args).then(
    () => 'none',
    (error: { code: string; message: string }) => `${error.code} ${error.message.replace(/^\S*\.yaml: /, '')}`,
  );

const base: ModelConfig = { name: 'net', backend: 'python', max_batch_size: 8 };

/** What the space's candidates have in their configs, in its order. */
function configsOf({ space }: StudySpec, config: ModelConfig = base): ModelConfig[] {
  const view = viewSpace(spaceFromJson((space ?? {}) as JsonObject), toOriginal(config));
  return [...view.assignments()].map((assignment) => {
    const built = view.build(assignment);
    if (!built.legal) throw new Error(built.reason);
    return toModelConfig(built.candidate);
  });
}

/** The names of the space's parameters. */
const parametersOf = ({ space }: StudySpec): string[] =>
  Object.keys(((space ?? {}) as JsonObject).parameters as JsonObject);

describe('models that are made of others', () => {
  it('are tuned with them: an ensemble, of which the file may say what to try', async () => {
    const plain = (await runOf('{ profile_models: net, run_config_search_mode: quick }')).of('net');
    expect(plain.space).toMatchObject({ parameters: { instances: { values: [1, 2, 3, 4, 5] } } });
    expect(plain.sampler.name).toBe('hill-climb');
    const { of, told } = await runOf(`
profile_models: [net]
run_config_search_mode: quick
ensemble_composing_models:
  - encoder: { model_config_parameters: { instance_group: [{ kind: KIND_GPU, count: [1, 2] }] } }
cpu_only_composing_models: [tokenizer]
`);
    const space = of('net').space as JsonObject & { members: Record<string, JsonObject> };
    expect(told).toEqual([]);
    expect(Object.keys(space.members)).toEqual(['encoder', 'tokenizer']);
    expect(space.members.tokenizer?.parameters).toMatchObject({ instance_kind: { values: ['KIND_CPU'] } });
    expect(space.members.encoder?.parameters).toMatchObject({
      instances: { values: [1, 2] },
      instance_kind: { values: ['KIND_GPU'] },
    });
    expect(space.others).toMatchObject({ parameters: { max_batch_size: expect.anything() } });
    expect(await faultOf('{ profile_models: net, ensemble_composing_models: 3 }')).toMatch(
      /ensemble_composing_models: expected names of models/,
    );
  });

  it('are tuned with them: a BLS model and what it calls', async () => {
    const { of } = await runOf('{ profile_models: net, run_config_search_mode: quick, bls_composing_models: "a,b" }');
    const { together, space } = of('net');
    expect(together).toEqual({ blsComposing: { net: ['a', 'b'] } });
    expect(Object.keys((space as { members: object }).members)).toEqual(['net', 'a', 'b']);
  });

  it('share the server where they are profiled at the same time, each with its goals and its weight', async () => {
    const { options, told } = await runOf(`
run_config_search_mode: quick
run_config_profile_models_concurrently_enable: true
run_config_search_max_concurrency: 64
profile_models:
  net: { weighting: 3, constraints: { perf_latency_p99: { max: 10 } }, perf_analyzer_flags: { input-data: zero } }
  text: { objectives: { perf_throughput: 3, perf_latency_p99: 1 }, constraints: { perf_latency_p95: { max: 7 } } }
`);
    const spec = toStudyOrSeries(options) as StudySpec;
    expect(told).toEqual([]);
    expect(spec).toMatchObject({
      model: 'net',
      together: { models: ['net', 'text'], requests: { net: { inputData: ['zero'] } } },
      goal: {
        percentile: 99,
        modelBudgetsMs: { net: 10 },
        constraints: ['latency-p95@text<=7'],
        objectives: ['throughput@net:3', 'throughput@text:0.75', 'latency-p99@text:0.25'],
      },
      levels: { concurrency: { low: 2, high: 128 } },
      sampler: { name: 'hill-climb' },
      space: { members: { net: {}, text: {} } },
    });
    const alone = await runOf('{ profile_models: { net: { weighting: 3 }, text: } }');
    expect(alone.told).toEqual([expect.stringMatching(/^profile_models.net.weighting is ignored: models are tuned/)]);
  });
});

describe('models', () => {
  it('are named in any of the three forms', async () => {
    for (const yaml of [
      'profile_models: net, text',
      'profile_models: [net, text]',
      'profile_models: {net: , text: {}}',
    ]) {
      expect((await runOf(yaml)).models).toEqual(['net', 'text']);
    }
    expect((await runOf('profile_models:\n  - net\n  - text: {weighting: 3}')).models).toEqual(['net', 'text']);
    const chosen = await runOf('profile_models: {net: {parameters: {concurrency: 3}}, text: }', '-m', 'net');
    expect(chosen.models).toEqual(['net']);
    expect(chooseLevels(chosen.of('net'))).toEqual({ mode: 'concurrency', low: 3, high: 3 });
    expect(chosen.told).toEqual([expect.stringMatching(/^profile_models\.text is ignored: the command line/)]);
  });

  it('must be there, in a file that can be read', async () => {
    expect(await faultOf('concurrency: 2')).toBe(
      'INPUT_INVALID profile_models: expected names of models, or settings by name',
    );
    expect(await faultOf('profile_models: [net, 3]')).toMatch(/^INPUT_INVALID profile_models: /);
    expect(await faultOf('profile_models: [net')).toMatch(/^INPUT_INVALID /);
    expect(await faultOf('- net')).toMatch(/^INPUT_INVALID /);
    expect(() =>
      withAnalyzerFile({ modelAnalyzerConfig: '/nowhere.yaml' } as SeriesFlags, new Set(), { tell: () => undefined }),
    ).toThrow(/nowhere/);
  });
});

describe('the goal', () => {
  it('is the model’s own, else that of the file; latencies in milliseconds, memory in megabytes', async () => {
    const run = await runOf(`
objectives: [perf_throughput, gpu_used_memory]
constraints: {perf_latency_p99: {max: 20}, gpu_used_memory: {max: 1000}}
profile_models:
  net:
  text:
    objectives: {perf_latency_p99: 3, perf_throughput: 10}
    constraints: {perf_latency_p90: {max: 7}, perf_latency_avg: {max: 2.5}, perf_throughput: {min: 100}}
`);
    expect(toGoal(run.of('net'))).toEqual({
      budget: { percentile: 99, latencyMs: 20 },
      constraints: [{ metric: 'gpu-memory', relation: '<=', value: 1e9 / 2 ** 20 }],
      objectives: [
        { metric: 'throughput', weight: 1 },
        { metric: 'gpu-memory', weight: 1 },
      ],
    });
    expect(toGoal(run.of('text'))).toEqual({
      budget: { percentile: 90, latencyMs: 7 },
      constraints: [
        { metric: 'latency-avg', relation: '<=', value: 2.5 },
        { metric: 'throughput', relation: '>=', value: 100 },
      ],
      objectives: [
        { metric: 'latency-p99', weight: 3 },
        { metric: 'throughput', weight: 10 },
      ],
    });
    expect(toGoal(await only('profile_models: net'))).toMatchObject({
      budget: null,
      objectives: [{ metric: 'throughput' }],
    });
  });

  it('takes its shorthands, and gives way to the command line', async () => {
    const yaml =
      'profile_models: {net: {constraints: {perf_latency: {max: 20}}}}\nlatency_budget: 5\nmin_throughput: 70';
    const goal = { budget: { percentile: 99, latencyMs: 5 }, constraints: [{ metric: 'throughput', value: 70 }] };
    expect(toGoal(await only(yaml))).toMatchObject(goal);
    expect(toGoal(await only(yaml, '--latency-budget', '3', '--percentile', '90'))).toMatchObject({
      budget: { percentile: 90, latencyMs: 3 },
      constraints: [{ metric: 'latency-p99', value: 5 }, { metric: 'throughput' }],
    });
    expect(toGoal(await only(yaml, '--constraint', 'error-rate<=1%', '--objective', 'latency-p50'))).toMatchObject({
      budget: { latencyMs: 5 },
      constraints: [{ metric: 'error-rate' }],
      objectives: [{ metric: 'latency-p50' }],
    });
    expect(
      toGoal(await only('profile_models: net\nconstraints: {perf_latency_p95: {max: 9}}', '--latency-budget', 'net=4')),
    ).toMatchObject({
      budget: { percentile: 99, latencyMs: 4 },
      constraints: [],
    });
  });

  it('is refused where nobody measures it, or it would mean the opposite', async () => {
    for (const metric of [
      'cpu_used_ram',
      'gpu_utilization',
      'time_to_first_token_p99',
      'perf_server_compute_infer',
      'speed',
    ]) {
      expect(await faultOf(`profile_models: net\nobjectives: [${metric}]`)).toMatch(
        `UNSUPPORTED '${metric}' cannot be an objective: `,
      );
    }
    expect(await faultOf('profile_models: net\nconstraints: {cpu_used_ram: {max: 1}}')).toMatch(
      /^UNSUPPORTED .* a constraint/,
    );
    expect(await faultOf('profile_models: net\nmodel_type: LLM')).toMatch(/^UNSUPPORTED /);
  });
});

describe('load levels', () => {
  it('are listed in any of its forms, and then measured as they are', async () => {
    for (const form of ['8,2,4', '[8, 2, 4]', '{start: 2, stop: 8, step: 2}']) {
      const options = await only(`profile_models: net\nconcurrency: ${form}`);
      expect(chooseLevels(options)).toEqual({ mode: 'concurrency', low: 2, high: 8 });
      expect(options.levels.values).toEqual(form.startsWith('{') ? [2, 4, 6, 8] : [2, 4, 8]);
    }
    const own = await only('profile_models: {net: {parameters: {request_rate: [100, 50]}}}\nconcurrency: 4');
    expect(chooseLevels(own)).toEqual({ mode: 'request-rate', low: 50, high: 100 });
    expect(own.levels.values).toEqual([50, 100]);
  });

  it('are searched between its limits otherwise', async () => {
    const levels = async (yaml: string, ...args: string[]) =>
      chooseLevels(await only(`profile_models: net\n${yaml}`, ...args));
    expect(await levels('')).toEqual({ mode: 'concurrency', low: 1, high: 1024 });
    expect(await levels('run_config_search_max_concurrency: 32')).toEqual({ mode: 'concurrency', low: 1, high: 32 });
    expect(await levels('request_rate_search_enable: true')).toEqual({ mode: 'request-rate', low: 16, high: 8192 });
    expect(await levels('run_config_search_min_request_rate: 100')).toMatchObject({ mode: 'request-rate', low: 100 });
    expect(await levels('run_config_search_disable: true')).toEqual({ mode: 'concurrency', low: 1, high: 1 });
    expect(await levels('concurrency: [1, 2]', '--request-rate', '5:10')).toEqual({
      mode: 'request-rate',
      low: 5,
      high: 10,
    });
    const given = await only('profile_models: net\nconcurrency: [1, 2]', '--concurrency', '3:9');
    expect(given.levels).not.toHaveProperty('values');
  });

  it('are of one kind, and in order', async () => {
    expect(await faultOf('profile_models: net\nconcurrency: 1\nrequest_rate: 5')).toMatch(
      /^INPUT_INVALID request_rate: /,
    );
    expect(await faultOf('profile_models: net\nrun_config_search_min_concurrency: 2000')).toMatch(
      /^INPUT_INVALID run_config_search_max_concurrency: 1024 is below/,
    );
    expect(await faultOf('profile_models: {net: {parameters: {concurrency: many}}}')).toMatch(
      /^INPUT_INVALID profile_models\.net\.parameters\.concurrency: expected a number/,
    );
  });

  it('go with the sizes of requests: one, or a range to search', async () => {
    const run = await runOf('profile_models: {net: {parameters: {batch_sizes: 4}}, text: }\nbatch_sizes: [2, 8]');
    expect([run.of('net').traffic.batch, run.of('text').traffic.batch]).toEqual([4, 1]);
    expect([run.of('net').levels.batch, run.of('text').levels.batch]).toEqual([undefined, { low: 2, high: 8 }]);
    expect(run.told).toEqual([]);
    const offline = await only('profile_models: net\nconcurrency: 1\nbatch_sizes: [1, 2, 16]');
    expect(offline.levels).toMatchObject({ concurrency: { low: 1, high: 1 }, batch: { low: 1, high: 16 } });
    expect(offline.levels.values).toBeUndefined();
    const atRates = await runOf('profile_models: net\nrequest_rate: 100\nbatch_sizes: [2, 8]');
    expect(atRates.of('net').traffic.batch).toBe(2);
    expect(atRates.told).toEqual([expect.stringMatching(/^batch_sizes is ignored: .*here 2; for 8 /)]);
    expect(configsOf(run.of('net')).map((config) => config.max_batch_size)).not.toContain(2);
    expect((await only('profile_models: net\nbatch_sizes: 4', '-b', '16')).traffic.batch).toBe(16);
  });
});

describe('the search', () => {
  it('has a sampler of ours for each of its modes', async () => {
    const sampler = async (...args: string[]) =>
      (await only(`profile_models: net\n${args[0]}`, ...args.slice(1))).sampler.name;
    expect(await sampler('')).toBe('grid');
    expect(await sampler('run_config_search_mode: brute')).toBe('grid');
    expect(await sampler('run_config_search_mode: quick')).toBe('hill-climb');
    expect(await sampler('run_config_search_mode: optuna')).toBe('tpe');
    expect(await sampler('run_config_search_mode: quick', '--sampler', 'queueing')).toBe('queueing');
    const optuna = await runOf(
      'profile_models: net\nrun_config_search_mode: optuna\noptuna_max_trials: 9\noptuna_min_trials: 3',
    );
    expect(optuna.of('net').limits.maxTrials).toBe(9);
    expect(optuna.told).toEqual([expect.stringMatching(/^optuna_min_trials is ignored/)]);
  });

  it('goes over instances and doubling batch sizes by itself', async () => {
    const options = await only(
      'profile_models: net\nrun_config_search_max_instance_count: 2\nrun_config_search_min_model_batch_size: 3\nrun_config_search_max_model_batch_size: 12',
    );
    const configs = configsOf(options);
    expect(configs.map(({ max_batch_size, instance_group }) => [max_batch_size, instance_group?.[0]?.count])).toEqual([
      ...[
        [3, 1],
        [3, 2],
        [6, 1],
        [6, 2],
        [12, 1],
        [12, 2],
      ],
    ]);
    expect(configs.every((config) => config.dynamic_batching !== undefined)).toBe(true);
    expect(configsOf(await only('profile_models: net'))).toHaveLength(5 * 8);
    expect(options.sampler.earlyExits).toBe(true);
    const none = await only('profile_models: net\nrun_config_search_disable: true');
    expect(configsOf(none)).toEqual([]);
    expect(none).toMatchObject({ levels: { values: [1] }, sampler: { earlyExits: false } });
    const placed = configsOf(await only('profile_models: {net: {cpu_only: true}}'));
    expect(new Set(placed.map(({ instance_group }) => instance_group?.[0]?.kind))).toEqual(new Set(['KIND_CPU']));
  });

  it('goes over every combination of the values that are listed', async () => {
    const options = await only(`
profile_models:
  net:
    model_config_parameters:
      max_batch_size: [4, 8]
      dynamic_batching:
        preferred_batch_size: [2, 4]
        max_queue_delay_microseconds: [100, 200]
      instance_group:
        - kind: KIND_GPU
          count: [1, 2]
      parameters:
        threads: {string_value: ["1", "2"]}
`);
    const configs = configsOf(options);
    expect(configs).toHaveLength(2 * 2 * 2 * 2);
    expect(configs[0]).toMatchObject({
      max_batch_size: 4,
      dynamic_batching: { preferred_batch_size: [2, 4], max_queue_delay_microseconds: 100 },
      instance_group: [{ kind: 'KIND_GPU', count: 1 }],
      parameters: { threads: { string_value: '1' } },
    });
    expect(parametersOf(options).sort()).toEqual([
      ...[
        'instance_kind',
        'instances',
        'max_batch_size',
        'parameters.threads.string_value',
        'preferred_batch_size',
        'queue_delay_us',
      ],
    ]);
    expect(options.sampler.earlyExits).toBe(false);
  });

  it('takes a list of lists where a field is a list, and whole messages', async () => {
    const configs = configsOf(
      await only(`
early_exit_enable: true
profile_models:
  - net:
      model_config_parameters:
        instance_group:
          - - kind: KIND_GPU
              count: [1, 2]
            - kind: KIND_CPU
          - - kind: KIND_CPU
              count: 3
        dynamic_batching: {preferred_batch_size: [[2], [2, 4]]}
        optimization:
          execution_accelerators:
            gpu_execution_accelerator:
              - name: tensorrt
                parameters: {precision_mode: [FP16, FP32]}
`),
      { ...base, instance_group: [{ kind: 'KIND_GPU', count: 1 }] },
    );
    expect(configs).toHaveLength(3 * 2 * 2);
    expect(new Set(configs.map(({ instance_group }) => JSON.stringify(instance_group)))).toEqual(
      new Set([
        '[{"count":1,"kind":"KIND_GPU"},{"kind":"KIND_CPU"}]',
        '[{"count":2,"kind":"KIND_GPU"},{"kind":"KIND_CPU"}]',
        '[{"count":3,"kind":"KIND_CPU"}]',
      ]),
    );
    const batching = configsOf(
      await only('profile_models: {net: {model_config_parameters: {dynamic_batching: {}, max_batch_size: 2}}}'),
    );
    expect(batching).toEqual([expect.objectContaining({ dynamic_batching: {}, max_batch_size: 2 })]);
    const messages = await only(
      'profile_models: {net: {model_config_parameters: {dynamic_batching: [{}, {max_queue_delay_microseconds: [5, 9]}]}}}',
    );
    expect(configsOf(messages).map((config) => config.dynamic_batching)).toEqual([
      ...[{}, { max_queue_delay_microseconds: 5 }, { max_queue_delay_microseconds: 9 }],
    ]);
  });

  it('goes over instances and batch sizes besides, unless it is the brute one', async () => {
    const names = async (mode: string, parameters: string): Promise<string[]> => {
      const yaml = `run_config_search_mode: ${mode}\nprofile_models: {net: {model_config_parameters: ${parameters}}}`;
      return parametersOf(await only(yaml)).sort();
    };
    const delays = '{dynamic_batching: {max_queue_delay_microseconds: [100, 200]}}';
    expect(await names('brute', delays)).toEqual(['queue_delay_us']);
    const all = ['dynamic_batching', 'instances', 'max_batch_size', 'queue_delay_us'];
    expect(await names('optuna', delays)).toEqual(all);
    expect(await names('quick', '{instance_group: [{kind: KIND_CPU, count: 2}], max_batch_size: [1, 4]}')).toEqual([
      ...['dynamic_batching', 'instance_kind', 'instances', 'max_batch_size'],
    ]);
  });

  it('is refused with the place of what is no field or no value', async () => {
    const fault = (parameters: string) => faultOf(`profile_models: {net: {model_config_parameters: ${parameters}}}`);
    const at = 'profile_models.net.model_config_parameters';
    expect(await fault('{max_batch: 4}')).toBe(
      `INPUT_INVALID ${at}.max_batch: the model config has no such field here`,
    );
    expect(await fault('{instance_group: [{counts: 4}]}')).toMatch(`INPUT_INVALID ${at}.instance_group.0.counts: `);
    expect(await fault('{max_batch_size: []}')).toMatch(`INPUT_INVALID ${at}.max_batch_size: there is no value in it`);
    expect(await fault('{max_batch_size: [large]}')).toMatch(new RegExp(`^INPUT_INVALID ${at}: max_batch_size.*large`));
    expect(await fault('{instance_group: [{kind: KIND_GPU}, {count: x}]}')).toMatch(/^INPUT_INVALID .*count takes/);
    expect(await fault('{__proto__: {a: 1}}')).toMatch(/^INPUT_INVALID /);
    expect(await fault('[1]')).toMatch(`INPUT_INVALID ${at}: `);
    expect(await faultOf('profile_models: net\nrun_config_search_min_instance_count: 9')).toMatch(
      /^INPUT_INVALID run_config_search_max_instance_count: 5 is below the least, 9/,
    );
  });
});

describe('the server', () => {
  it('is started unless the file says that it is there', async () => {
    const local = await runOf(
      'profile_models: net\nmodel_repository: /models\ntriton_server_path: /opt/t\ntriton_grpc_endpoint: a:1\nexport_path: out',
    );
    expect(local.of('net')).toMatchObject({
      server: { launch: 'local', modelRepository: '/models', tritonserver: '/opt/t' },
      output: 'out',
    });
    expect(local.of('net').server).not.toHaveProperty('url');
    expect(local.told).toEqual([expect.stringMatching(/^triton_grpc_endpoint is ignored: .*free ports/)]);
    const docker = await only(
      'profile_models: net\nmodel_repository: /models\ntriton_launch_mode: docker\ntriton_docker_image: img:1',
    );
    expect(docker.server).toMatchObject({ launch: 'docker', dockerImage: 'img:1' });
    expect(docker.server).not.toHaveProperty('serverArg');
    const inProcess = await runOf('profile_models: net\ntriton_launch_mode: c_api');
    expect(inProcess.of('net').server.launch).toBe('local');
    expect(inProcess.told).toEqual([expect.stringMatching(/^triton_launch_mode is ignored/)]);
    expect(await faultOf('profile_models: net\ntriton_launch_mode: cloud')).toMatch(
      /^INPUT_INVALID triton_launch_mode: /,
    );
  });

  it('is started with the flags of the file, and of the only model', async () => {
    const flags =
      'triton_server_flags: {cache-config: "local,size=1048576", backend_config: [a, b], strict-readiness: false}';
    const yaml = `profile_models: {net: {}}\n${flags}`;
    const passed = [
      '--cache-config=local,size=1048576',
      '--backend-config=a',
      '--backend-config=b',
      '--strict-readiness=false',
    ];
    expect((await only(yaml)).server.serverArg).toEqual(passed);
    // The command line starts another server, or finds one.
    expect((await only(yaml, '--launch', 'docker')).server).toMatchObject({ launch: 'docker', serverArg: passed });
    for (const other of [
      ['--launch', 'emulator:demo'],
      ['-u', 'host:1'],
    ])
      expect((await only(yaml, ...other)).server).not.toHaveProperty('serverArg');
    const own = await only(`${yaml.replace('{net: {}}', '{net: {triton_server_flags: {log-verbose: 1}}}')}`);
    expect(own.server.serverArg).toEqual(['--log-verbose=1']);
    const several = await runOf(
      `${yaml.replace('{net: {}}', '{net: {triton_server_flags: {log-verbose: 1}}, b: {}}')}`,
    );
    expect(several.of('net').server.serverArg).toEqual(passed);
    expect(several.told).toEqual([
      expect.stringMatching(/^profile_models\.net\.triton_server_flags is ignored: one server/),
    ]);
  });

  it('is a container with the mounts, labels and memory of the file', async () => {
    const yaml = `profile_models: net
triton_docker_mounts: ['/a:/b:ro']
triton_docker_labels: {team: serving}
triton_docker_shm_size: 2G
triton_server_environment: {LD_PRELOAD: /plugins/a.so, LEVEL: 3}`;
    const docker = await only(`${yaml}\ntriton_launch_mode: docker`);
    expect(docker.server.dockerArg).toEqual([
      ...['--volume=/a:/b:ro', '--label=team=serving', '--shm-size=2G'],
      ...['--env=LD_PRELOAD=/plugins/a.so', '--env=LEVEL=3'],
    ]);
    expect((await runOf(yaml)).told).toHaveLength(4);
    expect((await only(`${yaml}\ntriton_launch_mode: docker`, '--launch', 'local')).server).not.toHaveProperty(
      'dockerArg',
    );
  });

  it('is where its endpoints say, of the protocol that is spoken', async () => {
    const yaml = `
profile_models: net
triton_launch_mode: remote
client_protocol: http
triton_grpc_endpoint: a:1
triton_http_endpoint: a:2
triton_metrics_url: http://a:3/metrics`;
    const http = await only(yaml);
    expect(http.server).toMatchObject({
      protocol: 'http',
      url: 'a:2',
      controlUrl: 'a:1',
      metricsUrl: 'http://a:3/metrics',
    });
    expect(http.server.launch).toBeUndefined();
    const grpc = await only(yaml, '-i', 'grpc');
    expect(grpc.server).toMatchObject({ protocol: 'grpc', url: 'a:1' });
    expect(grpc.server.controlUrl).toBeUndefined();
    const elsewhere = await only(yaml, '-u', 'b:9');
    expect(elsewhere.server).toMatchObject({ protocol: 'http', url: 'b:9' });
    expect([elsewhere.server.controlUrl, elsewhere.server.metricsUrl]).toEqual([undefined, undefined]);
    const launched = await only(yaml, '--launch', 'emulator');
    expect([launched.server.launch, launched.server.url]).toEqual(['emulator', undefined]);
    expect((await only('profile_models: net', '-u', 'b:9')).server.launch).toBeUndefined();
  });
});

describe("perf_analyzer's flags", () => {
  it('mean what they mean there', async () => {
    const run = await runOf(`
profile_models:
  net:
    perf_analyzer_flags: {input-data: [a.json, b.json], shape: ['IN:3,4', 'MASK:4'], streaming: true, sequence-id-range: '5:9'}
  text:
perf_analyzer_flags: {string-length: 7, ssl-grpc-use-ssl: true, ssl-grpc-root-certifications-file: ca.pem}`);
    expect(run.of('net').traffic).toMatchObject({
      inputData: ['a.json', 'b.json'],
      shape: { IN: [3, 4], MASK: [4] },
      streaming: true,
      sequenceIds: { low: 5, high: 9 },
    });
    expect(run.of('text').traffic).toMatchObject({ stringLength: 7 });
    expect(run.of('net').traffic).not.toHaveProperty('stringLength');
    // One server serves them all.
    expect(run.options).toMatchObject({ tls: true, tlsCa: 'ca.pem' });
    expect(run.told).toEqual([]);
    const given = await runOf(
      'profile_models: net\nperf_analyzer_flags: {input-data: zero, shape: "IN:3"}',
      '--input-data',
      'random',
    );
    expect(given.of('net').traffic).toMatchObject({ inputData: ['random'], shape: { IN: [3] } });
  });

  it('are refused with their place when their values are none', async () => {
    const fault = (flags: string) => faultOf(`profile_models: net\nperf_analyzer_flags: ${flags}`);
    expect(await fault('{string-length: long}')).toMatch(/^INPUT_INVALID perf_analyzer_flags\.string-length: /);
    expect(await fault('{shared-memory: some}')).toMatch(/shared-memory: expected none, system, cuda/);
    expect(await fault('{shape: 3}')).toMatch(/^INPUT_INVALID perf_analyzer_flags\.shape: /);
    expect(await faultOf('profile_models: {net: {parameters: {concurrency: []}}}')).toMatch(
      /concurrency: the list is empty; give a value, or leave the key out/,
    );
  });
});

describe('what is ignored', () => {
  it('is said, each key with a reason, and kept with the study', async () => {
    const run = await runOf(`
profile_models:
  net: {weighting: 2, parameters: {latency: 3}, model_config_parameters: {max_batch_size: 2}, colour: red}
checkpoint_directory: /tmp/c
collect_cpu_metrics: true
run_config_profile_models_concurrently_enable: true
triton_server_flags: {log-verbose: 1, http-port: 9000}
run_config_search_max_instance_count: 3
early_exit_enable: true
client_prototcol: http
constructor: 1
perf_analyzer_flags: {percentile: 95, measurement-interval: 4000, ssl-https-verify-peer: 0, async: false, nonsense: 1, http-header: 'a:b'}
num_configs_per_model: 5
`);
    const keys = run.told.map((line) => line.split(' ')[0]);
    expect(keys.sort()).toEqual([
      ...['checkpoint_directory', 'client_prototcol', 'collect_cpu_metrics', 'constructor', 'num_configs_per_model'],
      ...['perf_analyzer_flags.async', 'perf_analyzer_flags.http-header', 'perf_analyzer_flags.measurement-interval'],
      ...['perf_analyzer_flags.nonsense', 'perf_analyzer_flags.ssl-https-verify-peer'],
      ...['profile_models.net.colour', 'profile_models.net.parameters.latency', 'profile_models.net.weighting'],
      ...[
        'run_config_profile_models_concurrently_enable',
        'run_config_search_max_instance_count',
        'triton_server_flags.http-port',
      ],
    ]);
    expect(run.of('net').goal.percentile).toBe(95);
    expect(run.told.every((line) => / is ignored: \S/.test(line))).toBe(true);
    expect(run.told).toContainEqual(
      expect.stringMatching(/^collect_cpu_metrics is ignored: the CPU use .*cpu-utilization/),
    );
    expect(run.told).toContainEqual(expect.stringMatching(/^client_prototcol .*did you mean 'client_protocol'/));
    expect(run.of('net').modelAnalyzer?.ignored).toHaveLength(run.told.length);
    expect(JSON.stringify(run.options)).not.toContain('a:b');
  });

  it('says nothing of a resumed run, which keeps what it was started with', async () => {
    const told: string[] = [];
    const options = { modelAnalyzerConfig: 'gone.yaml', resume: 'dir' } as SeriesFlags;
    expect(withAnalyzerFile(options, new Set(), { tell: (line) => void told.push(line) })).toBe(options);
    expect(told).toEqual([]);
  });
});
