import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { realClock } from '#base/clock.ts';
import { MS_PER_S } from '#base/units.ts';
import { freePorts } from '#launch/free-ports.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import type { LoadOrder } from './client-load.ts';

/**
 * What the emulator itself costs: `npm run bench:emulator`. Our load generator, in a process of its
 * own, sends small requests to a model whose executions take next to no time, so that the
 * emulator's process is what limits the rate. Prints requests per second and the CPU time of its
 * process per request, for each protocol, and whether gRPC meets the limit.
 */
const GRPC_LIMIT_PER_S = 8000;
const FLOATS = 16;
const CONCURRENCY = 32;
const SETTLE_MS = 1000;
const OBSERVED_MS = 3000;
/** The traffic lasts longer than the observation. */
const RUN_MS = OBSERVED_MS + 1500;
const ROUNDS = 3;
const MODEL = 'next_to_nothing';

const tensor = (name: string) => ({ name, data_type: 'TYPE_FP32', dims: [FLOATS] });
const profile = {
  name: 'next-to-nothing',
  description: 'A model that takes next to no time.',
  source: 'synthetic',
  device: { kind: 'cpu', name: 'CPU', memory_mib: 1000 },
  models: [
    {
      config: {
        name: MODEL,
        backend: 'python',
        max_batch_size: 64,
        input: [tensor('INPUT0')],
        output: [tensor('OUTPUT0')],
        instance_group: [{ count: 2, kind: 'KIND_CPU' }],
        dynamic_batching: {},
      },
      law: {
        execution_ms: [
          [1, 0.1],
          [64, 0.2],
        ],
      },
      load: { full_s: 0, add_s: 0, remove_s: 0 },
    },
  ],
};

const run = promisify(execFile);

/** Returns the CPU time of all threads of a process so far, in microseconds; Linux only. */
async function cpuUs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The 14th and 15th fields, after the name, which may contain blanks; in clock ticks, 100 per
  // second.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 1e4;
}

/** The emulator alone in its process. */
interface Emulator {
  readonly pid: number;
  readonly grpcUrl: string;
  readonly httpUrl: string;
  stop(): void;
}

async function start(profileFile: string): Promise<Emulator> {
  const [grpc, http, metrics] = (await freePorts(3)) as [number, number, number];
  const main = resolve(import.meta.dirname, '../src/cli/main.ts');
  const ports = [`--grpc-port=${grpc}`, `--http-port=${http}`, `--metrics-port=${metrics}`];
  const child = spawn(process.execPath, [main, 'emulate', `--profile=${profileFile}`, ...ports], { stdio: 'inherit' });
  const control = connectGrpc(`127.0.0.1:${grpc}`);
  for (let left = 100; !(await control.live().catch(() => false)); left--) {
    if (left === 0 || child.exitCode !== null) throw new Error('the emulator did not start');
    await realClock.sleep(100);
  }
  await control.close();
  const [grpcUrl, httpUrl] = [`127.0.0.1:${grpc}`, `127.0.0.1:${http}`];
  return { pid: child.pid as number, grpcUrl, httpUrl, stop: () => child.kill() };
}

interface Reading {
  readonly perSecond: number;
  readonly cpuUs: number;
}

async function read(server: Emulator, protocol: 'grpc' | 'http'): Promise<Reading> {
  const control = connectGrpc(server.grpcUrl);
  const look = async (): Promise<{ served: number; cpu: number; ms: number }> => {
    const served = (await control.statistics(MODEL))[0]?.inferenceCount ?? 0;
    return { served, cpu: await cpuUs(server.pid), ms: performance.now() };
  };
  const order: LoadOrder = {
    url: protocol === 'grpc' ? server.grpcUrl : server.httpUrl,
    load: { protocol, model: MODEL, floats: FLOATS, concurrency: CONCURRENCY },
    settleMs: SETTLE_MS,
    runMs: RUN_MS,
  };
  const client = run(process.execPath, [join(import.meta.dirname, 'client-load.ts'), JSON.stringify(order)]);
  try {
    await realClock.sleep(SETTLE_MS);
    const before = await look();
    await realClock.sleep(OBSERVED_MS);
    const after = await look();
    const served = after.served - before.served;
    return {
      perSecond: (served * MS_PER_S) / (after.ms - before.ms),
      cpuUs: (after.cpu - before.cpu) / served,
    };
  } finally {
    await client;
    await control.close();
  }
}

const scratch = await mkdtemp(join(tmpdir(), 'tritune-bench-'));
const profileFile = join(scratch, 'profile.json');
await writeFile(profileFile, JSON.stringify(profile));
const server = await start(profileFile);
try {
  for (const protocol of ['grpc', 'http'] as const) {
    const readings: Reading[] = [];
    for (let round = 0; round < ROUNDS; round++) readings.push(await read(server, protocol));
    // The best of a few, because other work on the machine only reduces the rate.
    const best = readings.reduce((a, b) => (b.perSecond > a.perSecond ? b : a));
    const verdict =
      protocol === 'grpc'
        ? `, the limit of ${GRPC_LIMIT_PER_S} ${best.perSecond >= GRPC_LIMIT_PER_S ? 'met' : 'NOT met'}`
        : '';
    console.log(
      `${protocol}: ${best.perSecond.toFixed(0)} infer/s at ${best.cpuUs.toFixed(1)} µs of CPU per request${verdict} ` +
        `(all rounds: ${readings.map(({ perSecond }) => perSecond.toFixed(0)).join(', ')})`,
    );
    if (protocol === 'grpc' && best.perSecond < GRPC_LIMIT_PER_S) process.exitCode = 1;
  }
} finally {
  server.stop();
  await rm(scratch, { recursive: true });
}
