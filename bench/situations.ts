import { spawn } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { explain } from '#app/explain/explain.ts';
import { emulatorSchema } from '#emulator/profile/schema.ts';
import { startEmulator } from '#emulator/start-emulator.ts';
import type { CauseCode } from '#explain/explanation.ts';

/**
 * Does `tritune explain` name the right cause? `npm run bench:situations`: situations that people
 * describe in public threads, as profiles of the emulator under the load of `tritune profile`.
 * `--only CAUSE`: one of them. `--seconds N`: how long each is looked at.
 */
const { values } = parseArgs({
  options: { only: { type: 'string' }, seconds: { type: 'string', default: '20' } },
});

interface Situation {
  readonly words: string;
  readonly cause: CauseCode;
  /** Changes of the model `model`: its config, its times, and other fields. */
  readonly config?: object;
  readonly law?: object;
  readonly model?: object;
  /** Models and ensembles beside it. */
  readonly profile?: object;
  /** What is loaded, and how. */
  readonly load: readonly string[];
  readonly budgetMs?: number;
}

const tensors = {
  input: [{ name: 'IN', data_type: 'TYPE_FP32', dims: [4] }],
  output: [{ name: 'OUT', data_type: 'TYPE_FP32', dims: [4] }],
};

const toModel = (name: string, { config, law, model }: Pick<Situation, 'config' | 'law' | 'model'>): object => ({
  config: {
    name,
    backend: 'onnxruntime',
    max_batch_size: 32,
    ...tensors,
    instance_group: [{ count: 1, kind: 'KIND_GPU', gpus: [0] }],
    dynamic_batching: {},
    ...config,
  },
  law: {
    execution_ms: [
      [1, 4],
      [64, 17],
    ],
    interference: { per_instance: 0.2 },
    cv: 0.03,
    ...law,
  },
  load: { full_s: 0.05, add_s: 0.02, remove_s: 0.02 },
  ...model,
});

const instances = (count: number): object => ({ instance_group: [{ count, kind: 'KIND_GPU', gpus: [0] }] });
const poisson = (perSecond: number, name = 'model'): readonly string[] => [
  ...['-m', name, '--request-rate-range', `${perSecond}`, '--request-distribution', 'poisson'],
];

/** Returns the path of a workload in which requests come in groups. */
function writeBursts(): string {
  const path = join(mkdtempSync(join(tmpdir(), 'tritune-situations-')), 'bursts.json');
  const arrivals = { process: 'gamma', perSecond: 150, cv: 4 };
  writeFileSync(path, JSON.stringify({ workloadVersion: 1, name: 'bursts', phases: [{ durationS: 10, arrivals }] }));
  return path;
}

const situations: readonly Situation[] = [
  {
    words: 'a delay of 20 ms for batches that a low rate never fills',
    cause: 'delay-never-fills',
    config: { dynamic_batching: { max_queue_delay_microseconds: 20_000 } },
    load: poisson(60),
  },
  {
    words: 'preferred batches of 16 for a few requests',
    cause: 'preferred-never-fits',
    config: { dynamic_batching: { preferred_batch_size: [16], max_queue_delay_microseconds: 10_000 } },
    load: poisson(100),
  },
  {
    words: 'a model that takes batches, executed one by one',
    cause: 'batching-off',
    config: { dynamic_batching: undefined },
    load: poisson(220),
  },
  {
    words: 'one instance for a model that shares the GPU well',
    cause: 'too-few-instances',
    config: { max_batch_size: 1, dynamic_batching: undefined },
    law: { interference: { per_instance: 0.02 } },
    load: poisson(200),
  },
  {
    words: 'requests that come in groups',
    cause: 'bursts',
    config: { ...instances(2), max_batch_size: 8 },
    load: ['-m', 'model', '--workload', writeBursts()],
  },
  {
    words: 'batches of at most four under load',
    cause: 'batch-limit',
    config: { max_batch_size: 4 },
    load: poisson(700),
  },
  {
    words: 'four instances that share one GPU',
    cause: 'instances-interfere',
    config: { ...instances(4), max_batch_size: 1, dynamic_batching: undefined },
    law: { interference: { per_instance: 1 } },
    load: poisson(180),
  },
  {
    words: 'one request after the other',
    cause: 'client',
    load: ['-m', 'model', '--concurrency-range', '1'],
  },
  {
    words: 'a slow model in a pipeline',
    cause: 'slow-member',
    profile: {
      models: [
        toModel('quick', { law: { execution_ms: [[1, 1]] } }),
        toModel('model', { law: { execution_ms: [[1, 9]] } }),
      ],
      ensembles: [
        {
          config: {
            name: 'pipeline',
            platform: 'ensemble',
            ...tensors,
            ensemble_scheduling: {
              step: [
                { model_name: 'quick', input_map: { IN: 'IN' }, output_map: { OUT: 'between' } },
                { model_name: 'model', input_map: { IN: 'between' }, output_map: { OUT: 'OUT' } },
              ],
            },
          },
        },
      ],
    },
    load: poisson(40, 'pipeline'),
  },
  {
    words: 'a backend that fills batches up to powers of two',
    cause: 'padding',
    config: { max_batch_size: 16 },
    law: {
      execution_ms: [
        [1, 6],
        [2, 8],
        [4, 12],
        [8, 20],
        [16, 36],
      ],
      cv: 0.01,
      padded_sizes: [1, 2, 4, 8, 16],
    },
    load: poisson(280),
  },
  {
    words: 'a GPU that serves what it can',
    cause: 'at-its-ceiling',
    config: instances(2),
    law: {
      execution_ms: [
        [1, 4],
        [64, 130],
      ],
      interference: { per_instance: 1 },
    },
    load: poisson(440),
  },
  { words: 'a service with much room', cause: 'nothing', config: instances(2), load: poisson(60) },
];

const cli = resolve(import.meta.dirname, '../src/cli/main.ts');
const SETTLE_MS = 3000;

async function play(situation: Situation): Promise<string> {
  const emulator = await startEmulator({
    profile: emulatorSchema.parse({
      name: 'situation',
      description: situation.words,
      source: 'synthetic',
      device: { kind: 'gpu', name: 'GPU', memory_mib: 16_384 },
      models: [toModel('model', situation)],
      ...situation.profile,
    }),
  });
  const seconds = Number(values.seconds);
  const isWorkload = situation.load.includes('--workload');
  const lasting = isWorkload
    ? ['--passes', '10']
    : ['-p', `${(seconds + 15) * 1e3}`, '--max-trials', '1', '--percentile', '99'];
  const load = spawn(
    process.execPath,
    [cli, 'profile', '-u', emulator.grpcUrl, '-i', 'grpc', ...situation.load, ...lasting],
    {
      stdio: 'ignore',
    },
  );
  const ended = new Promise((done) => load.once('exit', done));
  try {
    await sleep(SETTLE_MS);
    const { models } = await explain(
      {
        url: emulator.grpcUrl,
        protocol: 'grpc',
        for: seconds,
        model: [situation.load[1] as string],
        ...(situation.budgetMs !== undefined && { latencyBudget: situation.budgetMs }),
      },
      { signal: new AbortController().signal, onReading: () => undefined, tell: () => undefined },
    );
    const causes = models[0]?.causes ?? [];
    const isRight = causes[0]?.code === situation.cause;
    const isSurelyWrong = causes.some(({ code, sure }) => sure === 'sure' && code !== situation.cause);
    const verdict = isRight ? 'right' : causes.some(({ code }) => code === situation.cause) ? 'second' : 'WRONG';
    const named = causes.map(({ code, sure }) => `${code} (${sure})`).join(', ');
    return `${verdict}${isSurelyWrong ? ', SURE OF ANOTHER' : ''} | ${situation.cause} | ${situation.words} | ${named}`;
  } finally {
    load.kill('SIGINT');
    await ended;
    await emulator.close();
  }
}

for (const situation of situations.filter(({ cause }) => values.only === undefined || cause === values.only)) {
  console.log(await play(situation));
}
