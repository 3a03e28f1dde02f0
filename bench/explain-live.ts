import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { mean } from 'simple-statistics';
import { seededRandom } from '#base/random.ts';
import type { ModelExplanation, ServiceExplanation } from '#explain/explanation.ts';
import { launchLocal } from '#launch/local-server.ts';
import { findTriton } from '#launch/triton-install.ts';
import type { LaunchedServer } from '#launch/types.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { outputOf } from './client-run.ts';
import { type NeutralClient, neutralClient } from './neutral-client.ts';
import { drawGroups } from './open-server.ts';
import { perfAnalyzer } from './peers.ts';
import { bestByRound } from './readings.ts';
import { judge, type Side } from './truth-judge.ts';
import { type Subject, subjects, truthRepository } from './truth-subjects.ts';
import { tuneRun } from './tune-run.ts';

/**
 * `explain` beside `tune` on a real Triton: `npm run bench:explain-live`. NVIDIA's perf_analyzer
 * sends each of five models open traffic at a third of what it serves, and `explain` looks on. Then
 * `tune` searches under its own load, and `h2load` measures the original config, the proposed and
 * the tuned one, there and back, at rising levels. About five minutes a model.
 *
 * - `TRITUNE_BENCH_MODELS` (sleeper,mlp_onnx,image,buckets,turns) chooses the models.
 * - `TRITUNE_BENCH_ROUNDS` (2) is how often each config is measured.
 * - `TRITUNE_BENCH_GROUPS` (1) is the mean number of requests that come at once, at random times.
 */
const { env } = process;
const SUBJECTS = subjects(env.TRITUNE_BENCH_MODELS?.split(','), ['loose']);
const ROUNDS = Number(env.TRITUNE_BENCH_ROUNDS ?? 2);
const GROUP_SIZE = Number(env.TRITUNE_BENCH_GROUPS ?? 1);
const SHARE = 1 / 3;
/** Requests after which the arrivals begin again. */
const ARRIVALS = 20_000;
const LOOK = { afterMs: 5_000, seconds: 45 };
const SATURATING = 16;
const SETTLE_MS = 5_000;
const LEVELS = [4, 16, 64, 256];

const root = resolve(import.meta.dirname, '..');
const installDirectory = join(root, '.triton');
const program = join(root, 'dist/cli/main.js');
const modelRepository = await truthRepository();
const scratch = await mkdtemp(join(tmpdir(), 'tritune-explain-live-'));
const neutral = await neutralClient(join(installDirectory, 'peers', 'h2load'));
const install = await findTriton(installDirectory);
if (!install) throw new Error(`there is no Triton in ${installDirectory}: run .ci/fetch.ts`);
const openClient = await perfAnalyzer(install);

/** Writes the microseconds between requests, for perf_analyzer, and returns the file. */
async function writeIntervals(perSecond: number): Promise<string> {
  const timesMs = drawGroups(GROUP_SIZE, perSecond, ARRIVALS, seededRandom(1));
  const file = join(scratch, 'intervals.txt');
  const lines = [...timesMs].map((atMs, index) => Math.round(1e3 * (atMs - (timesMs[index - 1] ?? 0))));
  await writeFile(file, `${lines.join('\n')}\n`);
  return file;
}

/** Sends a model open traffic until the work has ended. */
async function underTraffic<T>({ grpcUrl }: LaunchedServer, model: string, perSecond: number, work: () => Promise<T>) {
  const traffic = ['--request-intervals', await writeIntervals(perSecond), '--async'];
  const length = ['--measurement-interval', '30000', '--stability-percentage', '0.1', '--max-trials', '100'];
  const { file, libraryDirectory } = openClient;
  const child = spawn(file, ['-m', model, '-u', grpcUrl, '-i', 'grpc', ...traffic, ...length], {
    env: { ...process.env, LD_LIBRARY_PATH: libraryDirectory },
    stdio: 'ignore',
  });
  const ended = once(child, 'exit');
  try {
    return await work();
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
}

async function explain({ grpcUrl }: LaunchedServer, { model, budgetMs }: Subject): Promise<ModelExplanation> {
  await new Promise((resume) => setTimeout(resume, LOOK.afterMs));
  const json = join(scratch, `${model}.json`);
  const look = ['-m', model, '-u', grpcUrl, '-i', 'grpc', '--for', `${LOOK.seconds}s`, '--json', json];
  const args = [program, 'explain', ...look, '--latency-budget', `${budgetMs}`];
  console.log(await outputOf(spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })));
  const { models } = JSON.parse(await readFile(json, 'utf8')) as ServiceExplanation;
  return models[0] as ModelExplanation;
}

const toSide = (config: ModelConfig, expected: number): Side => ({
  config,
  recommended: SATURATING,
  expected,
  own: null,
  levels: LEVELS,
  neutral: new Map(),
  ours: [],
});

/** Returns the most that the side served within the budget, in the mean of its rounds. */
const servedWithin = ({ neutral: byLevel }: Side, budgetMs: number): number => mean(bestByRound(byLevel, budgetMs));

async function compare(server: LaunchedServer, subject: Subject, client: NeutralClient): Promise<string> {
  const { model, budgetMs } = subject;
  const control = connectGrpc(server.grpcUrl);
  const original = await control.modelConfig(model);
  await control.close();
  const { throughput } = await client(server.grpcUrl, model, SATURATING);
  const perSecond = Math.max(1, Math.round(SHARE * throughput));
  const { causes, present, proposal } = await underTraffic(server, model, perSecond, () => explain(server, subject));
  const { summary, seconds } = await tuneRun(program, server, model, budgetMs);
  const tuned = summary.best?.config ?? original;
  const sides = [original, (proposal?.config as ModelConfig | undefined) ?? original, tuned].map((config) =>
    toSide(config, throughput),
  );
  await judge(sides, ROUNDS, { neutral: client, server, model, settleMs: SETTLE_MS });
  const [before, proposed, best] = sides.map((side) => servedWithin(side, budgetMs)) as [number, number, number];
  const { value = 0, low = 0, high = 0 } = present?.ceiling ?? {};
  return `| ${[
    `${model}, ${budgetMs} ms`,
    causes.map(({ code, sure }) => `${code} (${sure})`).join(', '),
    `${value.toFixed(0)} (${low.toFixed(0)} to ${high.toFixed(0)})`,
    before.toFixed(0),
    `${proposed.toFixed(0)}${proposal ? '' : ' (no other)'}`,
    `${best.toFixed(0)} in ${seconds.toFixed(0)} s`,
    (proposed / best).toFixed(2),
  ].join(' | ')} |`;
}

try {
  const rows: string[] = [];
  for (const subject of SUBJECTS) {
    const server = await launchLocal({
      modelRepository,
      installDirectory,
      logDirectory: scratch,
      loadModels: [subject.model],
    });
    rows.push(await compare(server, subject, neutral).finally(() => server.stop()));
    console.log(rows.at(-1));
  }
  console.log('\n| model, p99 within | causes | ceiling by explain | original | proposed | tuned | proposed / tuned |');
  console.log(`|---|---|---|---|---|---|---|\n${rows.join('\n')}`);
} finally {
  await rm(scratch, { recursive: true });
  await rm(modelRepository, { recursive: true });
}
