import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { median } from 'simple-statistics';
import { launchLocal } from '../src/launch/local-server.ts';
import { installTriton } from '../src/launch/triton-install.ts';
import type { LaunchedServer } from '../src/launch/types.ts';
import type { Summary } from '../src/study/summary.ts';
import { parseConfigText } from '../src/triton/config-parser.ts';
import { connectGrpc } from '../src/triton/connect.ts';
import type { ModelConfig } from '../src/triton/model-config.ts';
import { makeModelRepository } from '../test/support/real-triton.ts';
import { ANALYZER_VERSION, clientScript, modelAnalyzer, searchWithAnalyzer } from './analyzer.ts';
import { outputOf } from './client-run.ts';
import { type NeutralReading, neutralClient } from './neutral-client.ts';
import { perfAnalyzer } from './peers.ts';

/**
 * tritune beside Model Analyzer on a real Triton, one after the other on the same machine, each with its own client:
 * `npm run bench:versus`. What each recommends is then loaded and measured in turn by one neutral client (`h2load`), at the level
 * that was recommended with it and at levels around, and by NVIDIA's perf_analyzer at the recommended level, which takes more
 * of the machine for itself. `TRITUNE_BENCH_MODELS` (sleeper,mlp_onnx,two_at_most) and `TRITUNE_BENCH_MODES` (quick; quick,brute also runs
 * the other search, 15 to 40 minutes) choose what is run, `TRITUNE_BENCH_BUDGET_MS` (8) the p99 that it must keep: one that
 * the machine's own noise does not decide. About six minutes for each model and quick search.
 */
const MODELS = (process.env.TRITUNE_BENCH_MODELS ?? 'sleeper,mlp_onnx,two_at_most').split(',');
const MODES = (process.env.TRITUNE_BENCH_MODES ?? 'quick').split(',');
const BUDGET_MS = Number(process.env.TRITUNE_BENCH_BUDGET_MS ?? 8);
const JUDGE_ROUNDS = 3;

const root = resolve(import.meta.dirname, '..');
const installDirectory = join(root, '.triton');

/** What someone recommends, and how long it took. */
interface Advice {
  readonly by: string;
  readonly seconds: number;
  readonly config: ModelConfig;
  readonly concurrency: number;
  /** In its own words: infer/s and p99 in ms. */
  readonly claims: string;
}

async function tritune(server: LaunchedServer, model: string): Promise<Advice> {
  const directory = await mkdtemp(join(tmpdir(), 'tritune-versus-'));
  const args = ['tune', '-m', model, '-u', server.grpcUrl, '--metrics-url', server.metricsUrl, '-o', directory];
  const startMs = performance.now();
  const child = spawn(
    process.execPath,
    [join(root, 'src/cli/main.ts'), ...args, '--latency-budget', `${BUDGET_MS}`, '--ui', 'lines'],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  // It ends with another code when nothing met the budget; its summary says what came nearest.
  await outputOf(child).catch((error: unknown) => console.log(String(error)));
  const seconds = (performance.now() - startMs) / 1e3;
  const { best } = JSON.parse(await readFile(join(directory, 'summary.json'), 'utf8')) as Summary;
  if (!best) throw new Error('tritune recommends nothing');
  await rm(directory, { recursive: true });
  return {
    by: 'tritune',
    seconds,
    config: best.config,
    concurrency: best.load.value,
    claims: `${best.throughput.value?.toFixed(0)} infer/s, p99 ${best.latencyMs.p99?.toFixed(2)} ms`,
  };
}

async function analyzer(
  mode: string,
  server: LaunchedServer,
  model: string,
  parts: { readonly analyzer: string; readonly client: string; readonly modelRepository: string },
): Promise<Advice> {
  const control = connectGrpc(server.grpcUrl);
  const original = await control.modelConfig(model);
  const settings = { run_config_search_mode: mode };
  const outcome = await searchWithAnalyzer({ ...parts, server, model, budgetMs: BUDGET_MS, settings });
  await control.close();
  const [best] = outcome.rows;
  if (!best) throw new Error('Model Analyzer recommends nothing');
  const text = await outcome.configOf(best['Model Config Path'] ?? '');
  const variant = text === null ? {} : parseConfigText(text, 'config.pbtxt').config;
  return {
    by: `Model Analyzer, ${mode}`,
    seconds: outcome.seconds,
    config: { ...original, ...variant, name: model },
    concurrency: Number(best.Concurrency),
    claims: `${best['Throughput (infer/sec)']} infer/s, p99 ${best['p99 Latency (ms)']} ms`,
  };
}

/** Times the recommended level: a config is judged by what it serves within the budget, at whichever of these. */
const AROUND = [0.25, 0.35, 0.5, 0.7, 1, 1.4];

const levelsOf = ({ concurrency }: Advice): number[] => [
  ...new Set(AROUND.map((factor) => Math.max(1, Math.round(factor * concurrency)))),
];

/** Readings of an advice, by level; perf_analyzer's apart. */
interface Judgement {
  readonly neutral: Map<number, NeutralReading[]>;
  readonly nvidia: NeutralReading[];
}

async function judge(judgement: Judgement, advice: Advice, server: LaunchedServer, model: string): Promise<void> {
  const control = connectGrpc(server.grpcUrl, { loadTimeoutMs: 60_000 });
  await control.load(model, advice.config);
  await control.close();
  for (const level of levelsOf(advice)) {
    const readings = judgement.neutral.get(level) ?? [];
    judgement.neutral.set(level, [...readings, await neutral(server.grpcUrl, model, level)]);
  }
  judgement.nvidia.push(await byPerfAnalyzer(server, model, advice.concurrency));
}

async function byPerfAnalyzer(server: LaunchedServer, model: string, concurrency: number): Promise<NeutralReading> {
  const scratch = await mkdtemp(join(tmpdir(), 'tritune-judge-'));
  const csv = join(scratch, 'r.csv');
  const target = ['-m', model, '-u', server.grpcUrl, '-i', 'grpc', '--async', '--max-threads', '2', '-f', csv];
  const windows = ['-p', '1500', '-r', '3', '-s', '999', '--concurrency-range', `${concurrency}`];
  const env = { ...process.env, LD_LIBRARY_PATH: peer.libraryDirectory };
  await outputOf(spawn(peer.file, [...target, ...windows], { env, stdio: ['ignore', 'pipe', 'pipe'] }));
  const [header, row] = (await readFile(csv, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => line.split(','));
  await rm(scratch, { recursive: true });
  const column = (name: string): number => Number(row?.[header?.indexOf(name) ?? -1]);
  return { throughput: column('Inferences/Second'), p99Ms: column('p99 latency') / 1e3 };
}

const medianOf = (readings: readonly NeutralReading[]): NeutralReading => ({
  throughput: median(readings.map(({ throughput }) => throughput)),
  p99Ms: median(readings.map(({ p99Ms }) => p99Ms)),
});

const words = ({ throughput, p99Ms }: NeutralReading): string =>
  `${throughput.toFixed(0)} infer/s, p99 ${p99Ms.toFixed(2)} ms`;

function report({ by, seconds, config, concurrency, claims }: Advice, { neutral, nvidia }: Judgement): string[] {
  const levels = [...neutral].map(([level, readings]) => ({ level, ...medianOf(readings) }));
  const own = levels.find(({ level }) => level === concurrency);
  const [best] = levels.filter(({ p99Ms }) => p99Ms <= BUDGET_MS).sort((a, b) => b.throughput - a.throughput);
  const instances = config.instance_group?.map(({ count }) => count).join('+');
  return [
    `${by}: ${seconds.toFixed(0)} s; ${instances} instances, batch ${config.max_batch_size}, concurrency ${concurrency}`,
    `  it says                        ${claims}`,
    `  neutral client                 ${own ? words(own) : ''}`,
    `  within the budget at best      ${best ? `${words(best)} at concurrency ${best.level}` : 'nothing'}`,
    `  perf_analyzer                  ${words(medianOf(nvidia))}`,
  ];
}

const install = await installTriton({
  directory: installDirectory,
  packages: ['onnxruntime==1.20.1', 'onnx==1.17.0'],
  onStep: (step) => console.log(step),
});
const peer = await perfAnalyzer(install);
const neutral = await neutralClient(join(installDirectory, 'peers', 'h2load'));
const program = await modelAnalyzer(install);
const scratch = await mkdtemp(join(tmpdir(), 'tritune-bench-'));
const modelRepository = await makeModelRepository();
const client = await clientScript(
  join(scratch, 'client'),
  `LD_LIBRARY_PATH=${peer.libraryDirectory} exec ${peer.file}`,
);
const serve = (model: string): Promise<LaunchedServer> =>
  launchLocal({ modelRepository, installDirectory, logDirectory: scratch, loadModels: [model] });

async function withServer<T>(model: string, work: (server: LaunchedServer) => Promise<T>): Promise<T> {
  const server = await serve(model);
  return work(server).finally(() => server.stop());
}

try {
  for (const model of MODELS) {
    console.log(`\n${model}, p99 within ${BUDGET_MS} ms (Model Analyzer ${ANALYZER_VERSION})`);
    const advices = [await withServer(model, (server) => tritune(server, model))];
    for (const mode of MODES) {
      const parts = { analyzer: program, client, modelRepository };
      advices.push(await withServer(model, (server) => analyzer(mode, server, model, parts)));
    }
    await withServer(model, async (server) => {
      const judgements = advices.map((): Judgement => ({ neutral: new Map(), nvidia: [] }));
      for (let round = 0; round < JUDGE_ROUNDS; round++) {
        for (const [index, advice] of advices.entries())
          await judge(judgements[index] as Judgement, advice, server, model);
      }
      for (const [index, advice] of advices.entries())
        console.log(report(advice, judgements[index] as Judgement).join('\n'));
    });
  }
} finally {
  await rm(scratch, { recursive: true });
  await rm(modelRepository, { recursive: true });
}
