import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { freePorts } from '#launch/free-ports.ts';
import { launchLocal } from '#launch/local-server.ts';
import { installTriton } from '#launch/triton-install.ts';
import type { LaunchedServer } from '#launch/types.ts';
import { parseConfigText } from '#triton/config/parser.ts';
import { makeModelRepository } from '../test/support/real-triton.ts';
import { ANALYZER_VERSION, clientScript, modelAnalyzer, searchWithAnalyzer } from './analyzer.ts';
import { neutralClient } from './neutral-client.ts';
import { perfAnalyzer } from './peers.ts';
import { tuneRun } from './tune-run.ts';
import { type Advice, type Judged, judge, levelsFor, ratioLine, report, unjudged } from './versus-judge.ts';

/**
 * tritune beside Model Analyzer's quick search of an ensemble of three models, on a real Triton,
 * one after the other on the same machine: `npm run bench:versus-pipeline`. Model Analyzer starts
 * its own server, because its remote mode loads no variant of a composing model under the name that
 * the ensemble calls. One neutral client judges both, as in `versus-model-analyzer.ts`.
 * `TRITUNE_BENCH_BUDGET_MS` (40) is the p99 to keep, `TRITUNE_BENCH_ROUNDS` (4) how often each is
 * judged. Model Analyzer is told to stop after `TRITUNE_BENCH_ANALYZER_MINUTES` (30), and what it
 * has found by then is judged: its search was not over after 21.
 */
const MODEL = 'judge';
const MEMBERS = ['tokenizer', 'encoder', 'head'];
const BUDGET_MS = Number(process.env.TRITUNE_BENCH_BUDGET_MS ?? 40);
const ANALYZER_MS = 60_000 * Number(process.env.TRITUNE_BENCH_ANALYZER_MINUTES ?? 30);
const JUDGE_ROUNDS = Number(process.env.TRITUNE_BENCH_ROUNDS ?? 4);

const root = resolve(import.meta.dirname, '..');
const installDirectory = join(root, '.triton');

async function tritune(server: LaunchedServer): Promise<Advice> {
  const { directory, seconds, summary } = await tuneRun(join(root, 'dist/cli/main.js'), server, MODEL, BUDGET_MS);
  const { best } = summary;
  if (!best) throw new Error('tritune recommends nothing');
  console.log(`tritune's run: ${directory}`);
  const configs = await Promise.all(
    [...MEMBERS, MODEL].map(async (name) => {
      const path = join(directory, 'best', name, 'config.pbtxt');
      return parseConfigText(await readFile(path, 'utf8'), path).config;
    }),
  );
  return {
    by: 'tritune',
    seconds,
    config: configs.at(-1) ?? {},
    members: configs.slice(0, -1),
    concurrency: best.load.value,
    claims: `${best.throughput.value?.toFixed(0)} infer/s, p99 ${best.latencyMs.p99?.toFixed(2)} ms`,
  };
}

/**
 * The settings for a server of its own. Its input is not the socket that comes from here: bash, by
 * which Triton starts Python models, takes that for a remote shell and reads `~/.bashrc`, which may
 * put another Python first.
 */
async function localServer(scratch: string): Promise<object> {
  const { binary, backendDirectory, binDirectory, libraryDirectory } = install;
  const addresses = '--grpc-address=127.0.0.1 --http-address=127.0.0.1';
  const path = await clientScript(
    join(scratch, 'server'),
    `PATH=${binDirectory}:$PATH LD_LIBRARY_PATH=${libraryDirectory} exec ${binary} --backend-directory=${backendDirectory} ${addresses} </dev/null`,
  );
  // Without DCGM it knows its remote mode only.
  return { triton_launch_mode: 'local', triton_server_path: path, dcgm_disable: false };
}

async function analyzer(order: Omit<Parameters<typeof searchWithAnalyzer>[0], 'server'>): Promise<Advice> {
  const [grpc, http, metrics] = await freePorts(3);
  const server = {
    grpcUrl: `127.0.0.1:${grpc}`,
    httpUrl: `127.0.0.1:${http}`,
    metricsUrl: `http://127.0.0.1:${metrics}/metrics`,
  };
  const outcome = await searchWithAnalyzer({ ...order, server });
  const [best] = outcome.rows;
  if (!best) throw new Error('Model Analyzer recommends nothing');
  // The names of its variants:
  // `judge_config_3: tokenizer_config_1, encoder_config_0, head_config_2`.
  const [front = '', composing = ''] = (best['Model Config Path'] ?? '').split(': ');
  const configs = await Promise.all(
    [...composing.split(', '), front].map(async (variant) => {
      const text = await outcome.textOf(variant);
      return { ...parseConfigText(text, variant).config, name: variant.replace(/_config_[^_]*$/, '') };
    }),
  );
  const steps = parseConfigText(await outcome.textOf(front), front).config.ensemble_scheduling;
  return {
    by: `Model Analyzer, quick${outcome.wasStopped ? ', stopped' : ''}`,
    seconds: outcome.seconds,
    config: { ...configs.at(-1), ...(steps && { ensemble_scheduling: withOriginalNames(steps) }) },
    members: configs.slice(0, -1),
    concurrency: Number(best.Concurrency),
    claims: `${best['Throughput (infer/sec)']} infer/s, p99 ${best['p99 Latency (ms)']} ms`,
  };
}

/** Its ensembles call its variants. */
const withOriginalNames = <T>(scheduling: T): T =>
  JSON.parse(JSON.stringify(scheduling).replaceAll(/_config_(\d+|default)"/g, '"')) as T;

const install = await installTriton({ directory: installDirectory, onStep: (step) => console.log(step) });
const peer = await perfAnalyzer(install);
const judges = { peer, neutral: await neutralClient(join(installDirectory, 'peers', 'h2load')) };
const program = await modelAnalyzer(install);
const scratch = await mkdtemp(join(tmpdir(), 'tritune-bench-'));
const modelRepository = await makeModelRepository();

async function withServer<T>(work: (server: LaunchedServer) => Promise<T>): Promise<T> {
  const server = await launchLocal({ modelRepository, installDirectory, logDirectory: scratch, loadModels: [MODEL] });
  return work(server).finally(() => server.stop());
}

try {
  console.log(`${MODEL}, p99 within ${BUDGET_MS} ms (Model Analyzer ${ANALYZER_VERSION})`);
  const own = await withServer(tritune);
  const client = await clientScript(
    join(scratch, 'client'),
    `LD_LIBRARY_PATH=${peer.libraryDirectory} exec ${peer.file}`,
  );
  const settings = {
    ...(await localServer(scratch)),
    run_config_search_mode: 'quick',
    cpu_only_composing_models: MEMBERS,
  };
  const theirs = await analyzer({
    analyzer: program,
    client,
    modelRepository,
    model: MODEL,
    budgetMs: BUDGET_MS,
    settings,
    stopAfterMs: ANALYZER_MS,
  });
  await withServer(async (server) => {
    const judged = [own, theirs].map(unjudged) as [Judged, Judged];
    const levels = levelsFor([own, theirs]);
    for (let round = 0; round < JUDGE_ROUNDS; round++) {
      for (const each of round % 2 === 0 ? judged : judged.toReversed())
        await judge(each, levels, { ...judges, server, model: MODEL });
    }
    for (const each of judged) console.log(report(each, BUDGET_MS).join('\n'));
    console.log(ratioLine(...judged, BUDGET_MS));
  });
} finally {
  await rm(scratch, { recursive: true });
  await rm(modelRepository, { recursive: true });
}
