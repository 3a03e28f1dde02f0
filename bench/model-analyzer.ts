import { execFile } from 'node:child_process';
import { access, chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { launchLocal } from '../src/launch/local-server.ts';
import { installTriton, type TritonInstall } from '../src/launch/triton-install.ts';
import type { LaunchedServer } from '../src/launch/types.ts';
import { makeModelRepository } from '../test/support/real-triton.ts';
import { perfAnalyzer } from './peers.ts';

/**
 * Model Analyzer's quick search in remote mode on a real Triton, once with `tritune-perf-analyzer` in perf_analyzer's place
 * and once with perf_analyzer: `npm run bench:model-analyzer`. Prints how long each took and its best rows. It shows
 * that our program can stand in for the other one; the search is Model Analyzer's both times. About ten minutes.
 */
const VERSION = '1.58.0';
const MODEL = 'sleeper';
const BUDGET_MS = 8;
const LIMIT_MS = 900_000;

const root = resolve(import.meta.dirname, '..');
const installDirectory = join(root, '.triton');
const run = promisify(execFile);

/** Model Analyzer in an environment of its own, fetched on first use. */
async function modelAnalyzer(install: TritonInstall): Promise<string> {
  const directory = join(install.directory, 'peers', 'model-analyzer');
  const file = join(directory, 'bin', 'model-analyzer');
  const isThere = await access(file).then(
    () => true,
    () => false,
  );
  if (isThere) return file;
  console.log(`fetching triton-model-analyzer==${VERSION}`);
  await run(join(install.binDirectory, 'python'), ['-m', 'venv', directory], { timeout: 120_000 });
  const pip = ['-m', 'pip', 'install', '--quiet', `triton-model-analyzer==${VERSION}`];
  await run(join(directory, 'bin', 'python'), pip, { timeout: 600_000 });
  return file;
}

async function search(file: string, server: LaunchedServer, repository: string, clientPath: string): Promise<void> {
  const scratch = await mkdtemp(join(tmpdir(), 'tritune-analyzer-'));
  const settings = {
    model_repository: repository,
    triton_launch_mode: 'remote',
    triton_grpc_endpoint: server.grpcUrl,
    triton_http_endpoint: server.httpUrl,
    triton_metrics_url: server.metricsUrl,
    perf_analyzer_path: clientPath,
    // The share of the machine above which it ends its client; on two cores any real load is above it.
    perf_analyzer_cpu_util: 10_000,
    run_config_search_mode: 'quick',
    latency_budget: BUDGET_MS,
    export_path: join(scratch, 'out'),
    checkpoint_directory: join(scratch, 'checkpoints'),
    output_model_repository_path: join(scratch, 'variants'),
    dcgm_disable: true,
    profile_models: { [MODEL]: { cpu_only: true } },
  };
  const yaml = join(scratch, 'settings.yaml');
  await writeFile(yaml, JSON.stringify(settings));
  const startMs = performance.now();
  try {
    await run(file, ['profile', '-f', yaml], { timeout: LIMIT_MS, maxBuffer: 2 ** 28, cwd: scratch });
    const seconds = (performance.now() - startMs) / 1e3;
    const table = await readFile(join(scratch, 'out/results/metrics-model-inference.csv'), 'utf8');
    console.log(`done in ${seconds.toFixed(0)} s; the rows that it ranks first:`);
    for (const line of table.trim().split('\n').slice(0, 4)) console.log(`  ${line}`);
  } finally {
    await rm(scratch, { recursive: true });
  }
}

/** It is given one path, with no place for arguments or an environment. */
async function script(path: string, text: string): Promise<string> {
  await writeFile(path, `#!/bin/sh\n${text} "$@"\n`);
  await chmod(path, 0o755);
  return path;
}

const install = await installTriton({ directory: installDirectory, onStep: (step) => console.log(step) });
const peer = await perfAnalyzer(install);
const analyzer = await modelAnalyzer(install);
const scratch = await mkdtemp(join(tmpdir(), 'tritune-analyzer-'));
const repository = await makeModelRepository();
try {
  const clients = [
    [
      'tritune-perf-analyzer',
      await script(join(scratch, 'ours'), `exec ${process.execPath} ${join(root, 'src/cli/perf-analyzer-main.ts')}`),
    ],
    [
      'perf_analyzer',
      await script(join(scratch, 'theirs'), `LD_LIBRARY_PATH=${peer.libraryDirectory} exec ${peer.file}`),
    ],
  ] as const;
  for (const [name, path] of clients) {
    // A server each: Model Analyzer leaves the last variant that it tried on it.
    const server = await launchLocal({
      modelRepository: repository,
      installDirectory,
      logDirectory: scratch,
      loadModels: [MODEL],
    });
    console.log(`\nModel Analyzer ${VERSION}, quick search, p99 within ${BUDGET_MS} ms, with ${name}`);
    await search(analyzer, server, repository, path).finally(() => server.stop());
  }
} finally {
  await rm(scratch, { recursive: true });
  await rm(repository, { recursive: true });
}
