import { execFile } from 'node:child_process';
import { access, chmod, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { TritonInstall } from '#launch/triton-install.ts';
import type { LaunchedServer } from '#launch/types.ts';

/** The version of Model Analyzer on PyPI that the benchmarks run. */
export const ANALYZER_VERSION = '1.58.0';
const LIMIT_MS = 7_200_000;

const run = promisify(execFile);

/**
 * Returns the path of Model Analyzer's program, in its own environment next to this checkout's
 * Triton. Fetches it on first use.
 */
export async function modelAnalyzer(install: TritonInstall): Promise<string> {
  const directory = join(install.directory, 'peers', 'model-analyzer');
  const file = join(directory, 'bin', 'model-analyzer');
  const isThere = await access(file).then(
    () => true,
    () => false,
  );
  if (isThere) return file;
  console.log(`fetching triton-model-analyzer==${ANALYZER_VERSION}`);
  await run(join(install.binDirectory, 'python'), ['-m', 'venv', directory], { timeout: 120_000 });
  const pip = ['-m', 'pip', 'install', '--quiet', `triton-model-analyzer==${ANALYZER_VERSION}`];
  await run(join(directory, 'bin', 'python'), pip, { timeout: 600_000 });
  return file;
}

/**
 * Wraps the client in a script, because Model Analyzer takes only a path, without arguments or an
 * environment.
 */
export async function clientScript(path: string, command: string): Promise<string> {
  await writeFile(path, `#!/bin/sh\n${command} "$@"\n`);
  await chmod(path, 0o755);
  return path;
}

export interface AnalyzerOrder {
  readonly analyzer: string;
  /** The load generator that it runs. */
  readonly client: string;
  /**
   * The server's addresses: a running one, or the one that Model Analyzer starts if the settings
   * say so.
   */
  readonly server: Pick<LaunchedServer, 'grpcUrl' | 'httpUrl' | 'metricsUrl'>;
  readonly modelRepository: string;
  readonly model: string;
  readonly budgetMs: number;
  /** Further settings, in Model Analyzer's own format. */
  readonly settings: object;
  /**
   * Milliseconds until it is told to stop; its outcome is what it has found by then. If absent, it
   * fails after two hours.
   */
  readonly stopAfterMs?: number;
}

export interface AnalyzerOutcome {
  readonly seconds: number;
  /** True if it was told to stop before its search was over. */
  readonly wasStopped: boolean;
  /** The rows of its table, the best-ranked first; fields by column. */
  readonly rows: readonly Readonly<Record<string, string>>[];
  /** Returns the config.pbtxt of a variant in its table; null for the original config. */
  configOf(variant: string): Promise<string | null>;
  /**
   * Returns any variant's config.pbtxt, including the original config's; only if it starts the
   * server itself.
   */
  textOf(variant: string): Promise<string>;
}

/**
 * Runs one search, in remote mode unless the settings say otherwise. Remote mode leaves the last
 * variant on the server.
 */
export async function searchWithAnalyzer(order: AnalyzerOrder): Promise<AnalyzerOutcome> {
  const scratch = await mkdtemp(join(tmpdir(), 'tritune-analyzer-'));
  const variants = join(scratch, 'variants');
  const settings = {
    model_repository: order.modelRepository,
    triton_launch_mode: 'remote',
    triton_grpc_endpoint: order.server.grpcUrl,
    triton_http_endpoint: order.server.httpUrl,
    triton_metrics_url: order.server.metricsUrl,
    perf_analyzer_path: order.client,
    // It ends its client above this share of the machine, which any real load exceeds on two cores.
    perf_analyzer_cpu_util: 10_000,
    latency_budget: order.budgetMs,
    export_path: join(scratch, 'out'),
    checkpoint_directory: join(scratch, 'checkpoints'),
    output_model_repository_path: variants,
    dcgm_disable: true,
    profile_models: { [order.model]: { cpu_only: true } },
    ...order.settings,
  };
  const yaml = join(scratch, 'settings.yaml');
  await writeFile(yaml, JSON.stringify(settings));
  const startMs = performance.now();
  const { stopAfterMs = LIMIT_MS } = order;
  const how = { timeout: stopAfterMs, killSignal: 'SIGINT', maxBuffer: 2 ** 28, cwd: scratch } as const;
  const wasStopped = await run(order.analyzer, ['profile', '-f', yaml], how).then(
    () => false,
    (error: unknown) => {
      if (performance.now() - startMs < stopAfterMs || order.stopAfterMs === undefined) throw error;
      return true;
    },
  );
  const seconds = (performance.now() - startMs) / 1e3;
  const read = (path: string): Promise<string> => readFile(join(scratch, path), 'utf8');
  const rows = wasStopped
    ? rowsOfCheckpoint(await read('checkpoints/0.ckpt'), order)
    : rowsOf(await read('out/results/metrics-model-inference.csv'));
  const textOf = (variant: string): Promise<string> => readFile(join(variants, variant, 'config.pbtxt'), 'utf8');
  return {
    seconds,
    wasStopped,
    rows,
    textOf,
    configOf: (variant) => (variant.endsWith('_default') ? Promise.resolve(null) : textOf(variant)),
  };
}

/** The part of its saved state that is read after it was told to stop. */
interface Checkpoint {
  readonly 'ResultManager.results': {
    readonly _results: { readonly [model: string]: { readonly [variant: string]: CheckpointEntry } };
  };
}
type CheckpointEntry = readonly [
  {
    readonly _model_run_configs: readonly {
      readonly _composing_config_variants: readonly { variant_name: string }[];
    }[];
  },
  {
    readonly [run: string]: {
      readonly _model_config_measurements: readonly { readonly _non_gpu_data: readonly Figure[] }[];
    };
  },
];
type Figure = readonly [name: string, { readonly _value: number }];

/** The rows of its table for the measurements within the budget, by falling throughput. */
function rowsOfCheckpoint(
  checkpoint: string,
  { model, budgetMs }: Pick<AnalyzerOrder, 'model' | 'budgetMs'>,
): Record<string, string>[] {
  const results = (JSON.parse(checkpoint) as Checkpoint)['ResultManager.results']._results[model] ?? {};
  const rows = Object.entries(results).flatMap(
    ([
      variant,
      [
        {
          _model_run_configs: [config],
        },
        runs,
      ],
    ]) =>
      Object.entries(runs).map(
        ([
          run,
          {
            _model_config_measurements: [measured],
          },
        ]) => {
          const figures = Object.fromEntries(measured?._non_gpu_data.map(([name, { _value }]) => [name, _value]) ?? []);
          const composing = config?._composing_config_variants.map(({ variant_name }) => variant_name).join(', ');
          return {
            'Model Config Path': `${variant}: ${composing}`,
            Concurrency: /--concurrency-range=(\d+)/.exec(run)?.[1] ?? '',
            'Throughput (infer/sec)': `${figures.perf_throughput}`,
            'p99 Latency (ms)': `${figures.perf_latency_p99}`,
          };
        },
      ),
  );
  const throughputOf = (row: (typeof rows)[number]): number => Number(row['Throughput (infer/sec)']);
  return rows
    .filter((row) => Number(row['p99 Latency (ms)']) <= budgetMs)
    .sort((one, other) => throughputOf(other) - throughputOf(one));
}

function rowsOf(csv: string): Record<string, string>[] {
  const [header = [], ...rows] = csv
    .trim()
    .split('\n')
    .map((line) =>
      [...line.matchAll(/"([^"]*)"(?:,|$)|([^,]*)(?:,|$)/g)].map(([, quoted, plain]) => quoted ?? plain ?? ''),
    );
  return rows.map((row) => Object.fromEntries(header.map((name, index) => [name, row[index] ?? ''])));
}
