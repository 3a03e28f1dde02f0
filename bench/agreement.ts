import { spawn } from 'node:child_process';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { median } from 'simple-statistics';
import { loadProfile } from '#emulator/profile/profiles.ts';
import { toLaw } from '#emulator/profile/simulators.ts';
import { launchEmulator } from '#launch/emulator-server.ts';
import { launchLocal } from '#launch/local-server.ts';
import { installTriton } from '#launch/triton-install.ts';
import type { LaunchedServer } from '#launch/types.ts';
import { toPolicy } from '#queueing/batcher-policy.ts';
import { simulate } from '#queueing/simulate.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { perfAnalyzer } from './peers.ts';

/**
 * `tritune-perf-analyzer` and NVIDIA's perf_analyzer in turn with the same options at levels where
 * neither is the limit, on a real Triton and on the emulator, whose truth is known:
 * `npm run bench:agreement`. Ratios are ours over theirs within a round, as the median with the
 * range. `TRITUNE_BENCH_ROUNDS` (5) sets the rounds; each takes about two minutes.
 */
const ROUNDS = Number(process.env.TRITUNE_BENCH_ROUNDS ?? 5);
const LEVELS = [1, 4, 8];
const WINDOW_MS = 3000;

const root = resolve(import.meta.dirname, '..');
const installDirectory = join(root, '.triton');

interface Figures {
  readonly throughput: number;
  readonly p50Us: number;
  readonly p99Us: number;
}

interface Program {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

async function run(program: Program, server: LaunchedServer, level: number): Promise<Figures> {
  const scratch = await mkdtemp(join(tmpdir(), 'tritune-agreement-'));
  const csv = join(scratch, 'r.csv');
  const options = ['-m', 'sleeper', '-i', 'grpc', '-u', server.grpcUrl, '--input-data', 'zero', '-f', csv];
  // Any spread counts as stable: always three windows.
  const windows = ['-p', `${WINDOW_MS}`, '-r', '3', '-s', '999', '--concurrency-range', `${level}`];
  try {
    await ended(program, [...options, ...windows]);
    const [header, row] = (await readFile(csv, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => line.split(','));
    const column = (name: string): number => Number(row?.[header?.indexOf(name) ?? -1]);
    return {
      throughput: column('Inferences/Second'),
      p50Us: column('p50 latency'),
      p99Us: column('p99 latency'),
    };
  } finally {
    await rm(scratch, { recursive: true });
  }
}

function ended({ file, args, env }: Program, more: readonly string[]): Promise<void> {
  const child = spawn(file, [...args, ...more], { env, stdio: ['ignore', 'ignore', 'pipe'], timeout: 60_000 });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  return new Promise((done, fail) => {
    child.on('error', fail);
    child.on('close', (code) => (code === 0 ? done() : fail(new Error(`${file} ended with ${code}: ${said}`))));
  });
}

/** Returns what a server with this law would do without a network and a client. */
function truthOf(level: number): Figures {
  const [model] = loadProfile('sleeper').models;
  if (!model) throw new Error('the profile has no model');
  const { requestsPerSecond, latencyNs } = simulate(
    toPolicy(model.config as ModelConfig, 1),
    toLaw(model, []),
    { kind: 'closed', concurrency: level },
    { warmUpRequests: 1000, requests: 20_000, seed: 1 },
  );
  return { throughput: requestsPerSecond, p50Us: latencyNs.p50 / 1e3, p99Us: latencyNs.p99 / 1e3 };
}

async function compare(name: string, server: LaunchedServer, programs: readonly [Program, Program], truth: boolean) {
  console.log(`\n${name}`);
  const readings = LEVELS.map(() => [[], []] as [Figures[], Figures[]]);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, level] of LEVELS.entries()) {
      const order = round % 2 === 0 ? [0, 1] : [1, 0];
      for (const which of order) {
        const figures = await run(programs[which] as Program, server, level);
        readings[index]?.[which]?.push(figures);
      }
    }
  }
  for (const [index, level] of LEVELS.entries()) {
    const [ours, theirs] = readings[index] as [Figures[], Figures[]];
    for (const figure of ['throughput', 'p50Us', 'p99Us'] as const) {
      const ratios = ours.map((own, round) => own[figure] / (theirs[round] as Figures)[figure]);
      const typical = (list: readonly Figures[]): string => median(list.map((each) => each[figure])).toFixed(0);
      const known = truth ? `, without client and network ${truthOf(level)[figure].toFixed(0)}` : '';
      console.log(
        `concurrency ${level}, ${figure}: ours ${typical(ours)}, theirs ${typical(theirs)}, ratio ${median(ratios).toFixed(3)} (${Math.min(...ratios).toFixed(3)} to ${Math.max(...ratios).toFixed(3)})${known}`,
      );
    }
  }
}

const install = await installTriton({ directory: installDirectory, onStep: (step) => console.log(step) });
const peer = await perfAnalyzer(install);
const programs: readonly [Program, Program] = [
  { file: process.execPath, args: [join(root, 'src/cli/perf-analyzer-main.ts')], env: process.env },
  { file: peer.file, args: [], env: { ...process.env, LD_LIBRARY_PATH: peer.libraryDirectory } },
];
const scratch = await mkdtemp(join(tmpdir(), 'tritune-agreement-'));
await cp(join(root, 'test/real/models/sleeper'), join(scratch, 'models/sleeper'), { recursive: true });
try {
  const triton = await launchLocal({
    modelRepository: join(scratch, 'models'),
    installDirectory,
    logDirectory: scratch,
    loadModels: ['sleeper'],
  });
  await compare('a real Triton', triton, programs, false).finally(() => triton.stop());
  const emulator = await launchEmulator({
    profile: 'sleeper',
    script: join(root, 'src/cli/main.ts'),
    logDirectory: scratch,
  });
  await compare('the emulator', emulator, programs, true).finally(() => emulator.stop());
} finally {
  await rm(scratch, { recursive: true });
}
