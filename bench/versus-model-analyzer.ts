import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { launchLocal } from '#launch/local-server.ts';
import { installTriton } from '#launch/triton-install.ts';
import type { LaunchedServer } from '#launch/types.ts';
import { parseConfigText } from '#triton/config/parser.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { makeModelRepository } from '../test/support/real-triton.ts';
import { ANALYZER_VERSION, clientScript, modelAnalyzer, searchWithAnalyzer } from './analyzer.ts';
import { neutralClient } from './neutral-client.ts';
import { perfAnalyzer } from './peers.ts';
import { tuneRun } from './tune-run.ts';
import { type Advice, type Judged, judge, levelsFor, ratioLine, report, unjudged } from './versus-judge.ts';

/**
 * tritune beside Model Analyzer on a real Triton, one after the other on the same machine, each
 * with its own client: `npm run bench:versus`. What each recommends is then loaded and measured in
 * turn by one neutral client (`h2load`), all at the same levels, those that were recommended and
 * levels around, and by NVIDIA's perf_analyzer at the recommended level, which takes more of the
 * machine for itself. `TRITUNE_BENCH_MODELS` (sleeper,mlp_onnx,two_at_most) and
 * `TRITUNE_BENCH_MODES` (quick; quick,brute also runs the other search, 15 to 40 minutes) choose
 * what is run, `TRITUNE_BENCH_BUDGET_MS` (8) the p99 that it must keep: one that the machine's own
 * noise does not decide. About ten minutes for each model and quick search. tritune runs as it is
 * installed, from `dist`, which the script builds first.
 */
const MODELS = (process.env.TRITUNE_BENCH_MODELS ?? 'sleeper,mlp_onnx,two_at_most').split(',');
const MODES = (process.env.TRITUNE_BENCH_MODES ?? 'quick').split(',');
const BUDGET_MS = Number(process.env.TRITUNE_BENCH_BUDGET_MS ?? 8);
const JUDGE_ROUNDS = 4;

const root = resolve(import.meta.dirname, '..');
const installDirectory = join(root, '.triton');

async function tritune(server: LaunchedServer, model: string): Promise<Advice> {
  const { directory, seconds, summary } = await tuneRun(join(root, 'dist/cli/main.js'), server, model, BUDGET_MS);
  const { best } = summary;
  if (!best) throw new Error('tritune recommends nothing');
  console.log(`tritune's run: ${directory}`);
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

const install = await installTriton({
  directory: installDirectory,
  packages: ['onnxruntime==1.20.1', 'onnx==1.17.0'],
  onStep: (step) => console.log(step),
});
const peer = await perfAnalyzer(install);
const judges = { peer, neutral: await neutralClient(join(installDirectory, 'peers', 'h2load')) };
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
      const judged = advices.map(unjudged);
      const levels = levelsFor(advices);
      for (let round = 0; round < JUDGE_ROUNDS; round++) {
        // There and back: what the machine does meanwhile is nobody's gain.
        const inTurn = round % 2 === 0 ? judged : [...judged].reverse();
        for (const each of inTurn) await judge(each, levels, { ...judges, server, model });
      }
      const [own, ...others] = judged;
      for (const each of judged) console.log(report(each, BUDGET_MS).join('\n'));
      for (const other of others) console.log(ratioLine(own as Judged, other, BUDGET_MS));
    });
  }
} finally {
  await rm(scratch, { recursive: true });
  await rm(modelRepository, { recursive: true });
}
