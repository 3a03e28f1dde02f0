import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { median } from 'simple-statistics';
import { stringify } from 'yaml';
import { fitTwin } from '#adapter/twin/twin.ts';
import { launchEmulator } from '#launch/emulator-server.ts';
import { launchLocal } from '#launch/local-server.ts';
import { installTriton } from '#launch/triton-install.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { openTunedServer, type Setting, type TunedServer } from '../test/support/tuned-server.ts';
import { recordsOfSettings } from './fidelity-study.ts';

/**
 * A model that sleeps by batch size, on a real Triton and on two emulators in turn: one with the
 * profile of the package, one with a twin that is fitted to other settings of the same Triton just
 * before. Each setting is loaded and measured as `tune` does it: `npm run bench:fidelity`. Ratios
 * are emulated over real, medians over the rounds. A setting where the client or the machine was
 * the limit on one side is marked and not judged, and so is a figure (~) in which the real server,
 * measured a second time in every round, differs from itself by more than is asked of the emulator:
 * there the machine decides. `TRITUNE_BENCH_ROUNDS` (3) sets the rounds; each takes about three
 * minutes.
 */
const ROUNDS = Number(process.env.TRITUNE_BENCH_ROUNDS ?? 3);
const WITHIN = { throughput: 0.05, p50: 0.1, p99: 0.1 };
/** The share of all cores in use during a measurement. */
const MACHINE_BUSY = 0.9;
const windows = { minWindows: 3, maxWindows: 4, minWindowMs: 500, minRequests: 200 };
const MODEL = 'sleeper';

const setting = (instances: number, maxBatchSize: number, queueDelayUs: number, concurrency: number): Setting => ({
  instances,
  maxBatchSize,
  queueDelayUs,
  concurrency,
});

const settings = [
  setting(1, 1, 0, 1),
  setting(1, 1, 0, 4),
  setting(1, 8, 0, 1),
  setting(1, 8, 0, 8),
  setting(1, 8, 0, 24),
  setting(1, 8, 2000, 4),
  setting(1, 16, 0, 32),
  setting(2, 4, 0, 4),
  setting(2, 4, 0, 24),
  setting(2, 8, 1000, 16),
  setting(4, 4, 0, 8),
  setting(4, 4, 2000, 32),
];

/** The settings that the twin is fitted to; none of them is compared. */
const fittedTo = [
  setting(1, 2, 0, 1),
  setting(1, 2, 0, 8),
  setting(1, 12, 0, 6),
  setting(1, 12, 0, 32),
  setting(2, 12, 0, 10),
  setting(3, 6, 0, 36),
];

const figures = {
  throughput: (one: Measurement): number => one.throughput.value,
  p50: (one: Measurement): number => one.latencyMs.p50,
  p99: (one: Measurement): number => one.latencyMs.p99,
};
type Figure = keyof typeof figures;

/** One measurement, and any reason why it does not reflect the server. */
interface Reading {
  readonly measurement: Measurement;
  readonly limit: 'client' | 'machine' | null;
}

async function read(server: TunedServer, at: Setting): Promise<Reading> {
  const before = cpuMs();
  const measurement = await server.measure(at);
  const after = cpuMs();
  const busy = 1 - (after.idle - before.idle) / (after.all - before.all);
  return { measurement, limit: measurement.client.bound ? 'client' : busy > MACHINE_BUSY ? 'machine' : null };
}

function cpuMs(): { idle: number; all: number } {
  const times = cpus().map((cpu) => cpu.times);
  const sum = (of: (time: (typeof times)[number]) => number): number =>
    times.reduce((total, time) => total + of(time), 0);
  return { idle: sum((time) => time.idle), all: sum((time) => Object.values(time).reduce((a, b) => a + b, 0)) };
}

/** Round by round, setting by setting, one server after the other. */
async function compare(sides: Readonly<Record<string, TunedServer>>) {
  const readings = settings.map(() => new Map(Object.keys(sides).map((side) => [side, [] as Reading[]])));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, at] of settings.entries()) {
      const order = round % 2 === 0 ? Object.entries(sides) : Object.entries(sides).reverse();
      for (const [side, server] of order) readings[index]?.get(side)?.push(await read(server, at));
    }
    console.log(`round ${round + 1} of ${ROUNDS} done, load average ${loadavg()[0]?.toFixed(1)}`);
  }
  return readings;
}

function report(readings: Awaited<ReturnType<typeof compare>>, side: string): void {
  console.log(`\n${side} over real Triton (real throughput, p50, p99 in brackets)`);
  let judged = 0;
  let met = 0;
  for (const [index, at] of settings.entries()) {
    const of = (name: string): readonly Reading[] => readings[index]?.get(name) ?? [];
    const typical = (name: string, figure: Figure): number =>
      median(of(name).map(({ measurement }) => figures[figure](measurement)));
    const ratios = (Object.keys(figures) as Figure[]).map((figure) => {
      const real = typical('real', figure);
      const ratio = typical(side, figure) / real;
      const isSteady = isWithin(figure, typical('again', figure) / real);
      return { figure, real, ratio, isSteady, isMet: isWithin(figure, ratio) };
    });
    const limits = [...of('real'), ...of(side)].flatMap(({ limit }) => limit ?? []);
    const isLimited = limits.length * 2 > of(side).length;
    const counted = isLimited ? [] : ratios.filter(({ isSteady }) => isSteady);
    judged += counted.length;
    met += counted.filter(({ isMet }) => isMet).length;
    const { instances, maxBatchSize, queueDelayUs, concurrency } = at;
    const name = `${instances} × batch ${maxBatchSize}, delay ${queueDelayUs / 1e3} ms, concurrency ${concurrency}`;
    const shown = ratios.map(
      ({ figure, real, ratio, isSteady, isMet }) =>
        `${figure} ${ratio.toFixed(3)}${isMet ? ' ' : isSteady ? '!' : '~'} (${real.toFixed(figure === 'throughput' ? 0 : 2)})`,
    );
    console.log(
      `${name.padEnd(48)} ${shown.join('  ')}${isLimited ? `  limited by ${[...new Set(limits)].join(' and ')}` : ''}`,
    );
  }
  console.log(
    `${met} of ${judged} figures within ${WITHIN.throughput * 100} % of throughput, ${WITHIN.p50 * 100} % of p50 and p99`,
  );
}

function isWithin(figure: Figure, ratio: number): boolean {
  return Math.abs(ratio - 1) <= WITHIN[figure];
}

const root = resolve(import.meta.dirname, '..');
const installDirectory = join(root, '.triton');
const script = join(root, 'src/cli/main.ts');
await installTriton({ directory: installDirectory, onStep: (step) => console.log(step) });
const scratch = await mkdtemp(join(tmpdir(), 'tritune-fidelity-'));
const closing: (() => Promise<void>)[] = [() => rm(scratch, { recursive: true })];
try {
  const modelRepository = join(scratch, 'models');
  await cp(join(root, 'test/real/models', MODEL), join(modelRepository, MODEL), { recursive: true });
  const open = async (launched: Promise<{ grpcUrl: string; stop(): Promise<void> }>): Promise<TunedServer> => {
    const { grpcUrl, stop } = await launched;
    closing.unshift(stop);
    const server = await openTunedServer(grpcUrl, MODEL, windows);
    closing.unshift(() => server.close());
    return server;
  };
  const logs = (name: string) => ({ logDirectory: join(scratch, name) });
  const real = await open(launchLocal({ modelRepository, installDirectory, loadModels: [MODEL], ...logs('real') }));
  const twin = join(scratch, 'twin.yaml');
  await writeFile(twin, stringify(fitTwin(await recordsOfSettings(real, MODEL, fittedTo))));
  console.log(`the twin is fitted to ${fittedTo.length} settings; load average ${loadavg()[0]?.toFixed(1)}`);
  const readings = await compare({
    real,
    again: real,
    profile: await open(launchEmulator({ profile: MODEL, script, ...logs('profile') })),
    twin: await open(launchEmulator({ profile: twin, script, ...logs('twin') })),
  });
  for (const side of ['again', 'profile', 'twin']) report(readings, side);
} finally {
  for (const close of closing) await close();
}
