import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { realClock } from '#base/clock.ts';
import { NS_PER_S, NS_PER_US } from '#base/units.ts';
import type { LaunchedServer } from '#launch/types.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import type { OurMode } from './client-experiments.ts';
import type { LoadOrder } from './client-load.ts';

/** The load: an open loop with `perSecond`, else a closed one. */
export interface Load {
  readonly protocol: 'grpc' | 'http';
  readonly model: string;
  readonly floats: number;
  readonly concurrency: number;
  readonly perSecond?: number;
}

/** A client's report on its own run. */
export interface Report {
  readonly p50Us: number;
  readonly sentPerSecond?: number;
  readonly lateP50Us?: number;
}

/** A run as its client saw it, and as seen from outside in the same way for every client. */
export interface Reading extends Report {
  /** CPU time of the client's process per request that the server served. */
  readonly cpuUs: number;
  /** Requests per second by the server's own count. */
  readonly perSecond: number;
}

/** A running client. `report` settles when its process has ended. */
export interface Running {
  readonly child: ChildProcess;
  readonly report: Promise<Report>;
}

/** Clients start as they do for users; nothing before this counts. */
const SETTLE_MS = 700;
const OBSERVED_MS = 2200;
/** Traffic lasts longer than the observation, so that no client ends during it. */
export const RUN_MS = SETTLE_MS + OBSERVED_MS + 500;
const DEADLINE_MS = 15_000;
const POLL_MS = 25;

/** Runs a client to its end, and observes its CPU and the server's counts meanwhile. */
export async function read(server: LaunchedServer, model: string, start: () => Promise<Running>): Promise<Reading> {
  const control = connectGrpc(server.grpcUrl, { defaultTimeoutMs: 5000 });
  const served = async (): Promise<number> =>
    (await control.statistics(model)).reduce((sum, { inferenceCount }) => sum + inferenceCount, 0);
  const before = await served();
  const { child, report } = await start();
  const deadline = setTimeout(() => child.kill('SIGKILL'), DEADLINE_MS);
  const outcome = report.catch((error: unknown) => {
    throw new Error(`${child.spawnargs.slice(0, 2).join(' ')} …: ${String(error)}`);
  });
  const observation = observe(child, served, before);
  try {
    const [said, seen] = await Promise.all([outcome, observation]);
    return { ...said, ...seen };
  } catch (error) {
    child.kill('SIGKILL');
    await Promise.allSettled([outcome, observation]);
    throw error;
  } finally {
    clearTimeout(deadline);
    await control.close();
  }
}

async function observe(
  child: ChildProcess,
  served: () => Promise<number>,
  before: number,
): Promise<Pick<Reading, 'cpuUs' | 'perSecond'>> {
  while ((await served()) === before) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error('the client ended without a request');
    await realClock.sleep(POLL_MS);
  }
  await realClock.sleep(SETTLE_MS);
  const sample = async () => {
    const startNs = realClock.nowNs();
    const requests = await served();
    return { atNs: (startNs + realClock.nowNs()) / 2, requests, cpuNs: await cpuNsOf(child.pid as number) };
  };
  const first = await sample();
  await realClock.sleep(OBSERVED_MS);
  const last = await sample();
  if (child.exitCode !== null) throw new Error('the client ended while it was looked at');
  const requests = last.requests - first.requests;
  return {
    cpuUs: (last.cpuNs - first.cpuNs) / requests / NS_PER_US,
    perSecond: (requests * NS_PER_S) / (last.atNs - first.atNs),
  };
}

/**
 * Returns the CPU time of all threads of a process (Linux: the first number of `schedstat`, in
 * nanoseconds).
 */
export async function cpuNsOf(pid: number): Promise<number> {
  let sumNs = 0;
  for (const thread of await readdir(`/proc/${pid}/task`)) {
    const figures = await readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => '0');
    sumNs += Number(figures.split(' ')[0]);
  }
  return sumNs;
}

export async function startOurs(url: string, load: Load, { streaming, sharedMemory }: OurMode): Promise<Running> {
  const order: LoadOrder = { url, load, streaming, sharedMemory, settleMs: SETTLE_MS, runMs: RUN_MS };
  const child = spawn(process.execPath, [join(import.meta.dirname, 'client-load.ts'), JSON.stringify(order)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return { child, report: outputOf(child).then((text) => JSON.parse(text) as Report) };
}

/**
 * Returns what a process wrote to stdout. Errors: with all of its output, if it does not exit with
 * 0.
 */
export async function outputOf(child: ChildProcess): Promise<string> {
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    stderr += chunk;
  });
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  if (code === 0) return stdout;
  throw new Error(`ended with ${code ?? signal}: ${stderr.trim() || stdout.trim()}`);
}
