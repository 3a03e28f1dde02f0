import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { median } from 'simple-statistics';
import { exitCodes } from '#app/exit-codes.ts';
import { launchLocal } from '#launch/local-server.ts';
import { installTriton } from '#launch/triton-install.ts';
import type { LaunchedServer } from '#launch/types.ts';
import { makeModelRepository } from '../test/support/real-triton.ts';
import { outputOf } from './client-run.ts';

/**
 * The gate of CI on a real Triton: `npm run bench:gate`. One server has the sleeping model as it
 * is, another one the same with executions that take a ninth longer, so that it serves a tenth
 * less. Both are measured in turn, as docs/ci.md has it; then each measurement of the first is
 * compared with the next one of it, of which none should fail, and with that of the second, of
 * which all should. `TRITUNE_BENCH_PAIRS` (20) is how many of each, half a minute a measurement.
 */
const PAIRS = Number(process.env.TRITUNE_BENCH_PAIRS ?? 20);
const MODEL = 'sleeper';
const LEVELS = '8:48:8';
/**
 * Seconds of an execution that make the served rate a tenth lower: the model sleeps for 2.05 ms,
 * and some of the overhead grows with it.
 */
const EXECUTION_SECONDS = 0.0022;
const PLANTED_SHARE = 0.1;

const root = resolve(import.meta.dirname, '..');
const scratch = await mkdtemp(join(tmpdir(), 'tritune-gate-'));

const tritune = (args: readonly string[]) =>
  spawn(process.execPath, [join(root, 'dist/cli/main.js'), ...args], { stdio: ['ignore', 'pipe', 'pipe'] });

async function measure({ grpcUrl }: LaunchedServer, name: string): Promise<string> {
  const file = join(scratch, `${name}.json`);
  const args = ['-m', MODEL, '-u', grpcUrl, '-i', 'grpc', '--concurrency-range', LEVELS, '--json', file];
  await outputOf(tritune(['profile', ...args]));
  return file;
}

/** True if the gate finds a regression. */
async function gate(baseline: string, run: string): Promise<boolean> {
  const child = tritune(['compare', baseline, run]);
  try {
    await outputOf(child);
    return false;
  } catch (error) {
    if (child.exitCode === exitCodes.regression) return true;
    if (child.exitCode === exitCodes.inconclusive) return false;
    throw error;
  }
}

async function throughputOf(file: string): Promise<number> {
  const { levels } = JSON.parse(await readFile(file, 'utf8')) as { levels: { throughput: { value: number } }[] };
  return median(levels.map(({ throughput }) => throughput.value));
}

/** Makes executions longer, so that a tenth less is served. */
async function plant(modelRepository: string): Promise<void> {
  const file = join(modelRepository, MODEL, '1', 'model.py');
  const longer = (EXECUTION_SECONDS * PLANTED_SHARE) / (1 - PLANTED_SHARE);
  const text = await readFile(file, 'utf8');
  const planted = text.replace(
    /^BASE_SECONDS = ([\d.]+)$/m,
    (_, seconds: string) => `BASE_SECONDS = ${Number(seconds) + longer}`,
  );
  if (planted === text) throw new Error(`${file} has no BASE_SECONDS`);
  await writeFile(file, planted);
}

const installDirectory = join(root, '.triton');
await installTriton({ directory: installDirectory, packages: ['onnxruntime==1.20.1', 'onnx==1.17.0'] });
const repositories = [await makeModelRepository(), await makeModelRepository()] as const;
await plant(repositories[1]);
const servers: LaunchedServer[] = [];
try {
  for (const modelRepository of repositories) {
    const logDirectory = await mkdtemp(join(scratch, 'log-'));
    servers.push(await launchLocal({ modelRepository, installDirectory, logDirectory, loadModels: [MODEL] }));
  }
  const [asItIs, slower] = servers as [LaunchedServer, LaunchedServer];
  const failed = { same: 0, slower: 0 };
  const changes = { same: [] as number[], slower: [] as number[] };
  let before = await measure(asItIs, 'same-0');
  for (let pair = 1; pair <= PAIRS; pair++) {
    const runs = { slower: await measure(slower, `slower-${pair}`), same: await measure(asItIs, `same-${pair}`) };
    for (const which of ['slower', 'same'] as const) {
      if (await gate(before, runs[which])) failed[which]++;
      changes[which].push((await throughputOf(runs[which])) / (await throughputOf(before)) - 1);
    }
    before = runs.same;
    console.log(`${pair}: failed so far ${failed.same} of the same server, ${failed.slower} of the slower one`);
  }
  for (const which of ['same', 'slower'] as const) {
    const change = changes[which].map((each) => 100 * each);
    console.log(
      `${which}: failed ${failed[which]} of ${PAIRS}; throughput ${median(change).toFixed(1)} % in the median (${Math.min(...change).toFixed(1)} to ${Math.max(...change).toFixed(1)} %)`,
    );
  }
} finally {
  for (const server of servers) await server.stop();
  for (const path of [scratch, ...repositories]) await rm(path, { recursive: true });
}
