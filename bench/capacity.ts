import { mkdtemp } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { median } from 'simple-statistics';
import { loadsOn, type PlayingRule } from '#app/capacity/loads.ts';
import type { LevelTarget } from '#app/profile/measuring.ts';
import { planProfile } from '#app/profile/plan.ts';
import { openTensors } from '#app/profile/tensor-service.ts';
import { openServer } from '#app/server/open-server.ts';
import { realClock } from '#base/clock.ts';
import { seededRandom } from '#base/random.ts';
import { NS_PER_S } from '#base/units.ts';
import type { CapacityLoads } from '#capacity/loads.ts';
import type { CapacityQuestion } from '#capacity/question.ts';
import { toReading } from '#capacity/reading.ts';
import { runCapacity } from '#capacity/run.ts';
import { freshState } from '#capacity/state.ts';
import { launchEmulator } from '#launch/emulator-server.ts';
import type { LaunchedServer } from '#launch/types.ts';
import { defaultWindowRule } from '#profiler/level-options.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { ProfileSpec } from '#spec/profile-spec.ts';
import { makeModelRepository, startRealTriton } from '../test/support/real-triton.ts';
import { closerLook, crossing, halvesOfSweep, type SweepReading } from './capacity-sweep.ts';

/**
 * The capacity by bisection against that by an exhaustive sweep of rates, on an emulator and on a
 * real Triton: `node bench/capacity.ts`. The sweep measures every rate of a grid of 3 % as long as
 * the answer is measured, from half to 1.1 times what a closed loop serves; its capacity is where
 * the share of late requests crosses what the percentile allows, by isotonic regression. A round
 * searches before, in the middle of, and after a sweep, because servers drift by more than 3 %
 * within minutes. Then it reads the rates near the crossing again: one reading of each leaves the
 * sweep's own capacity unsure by 5 %. The median of all searches is judged by all readings. Asked
 * for: within 3 %, in a quarter of the time of one sweep. `TRITUNE_BENCH_ROUNDS` (3) sets the
 * rounds; `TRITUNE_BENCH_ONLY` (emulator, triton, or a model) the subjects.
 */
const ROUNDS = Number(process.env.TRITUNE_BENCH_ROUNDS ?? 3);
const ONLY = process.env.TRITUNE_BENCH_ONLY ?? '';
const WITHIN = 0.03;
const SHARE_OF_TIME = 0.25;

interface Subject {
  readonly server: 'emulator' | 'triton';
  readonly model: string;
  readonly budgetMs: number;
}

const subjects: readonly Subject[] = [
  { server: 'emulator', model: 'net', budgetMs: 50 },
  { server: 'emulator', model: 'net', budgetMs: 120 },
  { server: 'triton', model: 'sleeper', budgetMs: 60 },
  { server: 'triton', model: 'mlp_onnx', budgetMs: 20 },
];

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const question = (budgetMs: number): CapacityQuestion => ({
  limit: { kind: 'latency', percentile: 99, budgetMs },
  batch: 1,
  precision: WITHIN,
  mostSeconds: 600,
  followsHost: false,
  burst: null,
  replicas: null,
});

const show = ({ level, badShare, budgetLatencyMs, durationMs, client }: Measurement): void => {
  const figures = [
    `${level.value.toFixed(0)}/s`,
    `p99 ${budgetLatencyMs.value.toFixed(1)} ms`,
    `late ${badShare?.value.toFixed(4)}`,
  ];
  process.stderr.write(`  ${[...figures, `${(durationMs / 1e3).toFixed(1)} s`, client.reason ?? ''].join('  ')}\n`);
};

interface Found {
  readonly capacity: number;
  readonly seconds: number;
}

/** Returns the seconds of the search alone, because the sweep has no cliff either. */
async function bisected(loads: CapacityLoads, budgetMs: number): Promise<Found> {
  const state = freshState();
  const startNs = realClock.nowNs();
  let endNs = startNs;
  await runCapacity(question(budgetMs), state, {
    loads,
    clock: realClock,
    onEvent: (event) => {
      if (event.type !== 'beyond') endNs = realClock.nowNs();
      if (event.type === 'tried') show(event.measurement);
      if (event.type === 'client-limit') process.stderr.write(`  the load generator: ${event.reason}\n`);
    },
  });
  return { capacity: state.posterior?.interval.value ?? 0, seconds: (endNs - startNs) / NS_PER_S };
}

async function saturationOf({ scouting }: CapacityLoads): Promise<number> {
  if (scouting.kind !== 'closed-loops') throw new Error('no closed loops');
  return (await scouting.measure(64)).throughput.value;
}

async function read(loads: CapacityLoads, budgetMs: number, rate: number): Promise<SweepReading> {
  const measurement = await loads.atLength(rate);
  show(measurement);
  const { limit, batch } = question(budgetMs);
  const { bad, requests } = toReading(measurement, { limit, batch, usualHostWorkUs: null });
  return { rate, bad: bad.mean, requests };
}

/**
 * Searches before, in the middle of, and after a sweep, and adds the sweep's readings to those of
 * the rounds before.
 */
async function playRound(
  target: LevelTarget,
  ruleOf: (seed: number) => PlayingRule,
  budgetMs: number,
  round: number,
  readings: SweepReading[],
): Promise<{ readonly searches: readonly Found[]; readonly sweepSeconds: number }> {
  const random = seededRandom(round);
  const loads = loadsOn(target, ruleOf(1000 * round + 500));
  const search = (at: number): Promise<Found> => bisected(loadsOn(target, ruleOf(1000 * round + at)), budgetMs);
  const play = async (rates: readonly number[]): Promise<number> => {
    const startNs = realClock.nowNs();
    for (const rate of rates) readings.push(await read(loads, budgetMs, rate));
    return (realClock.nowNs() - startNs) / NS_PER_S;
  };
  const searches = [await search(0)];
  let sweepSeconds = 0;
  for (const half of halvesOfSweep(await saturationOf(loads), random)) {
    sweepSeconds += await play(half);
    searches.push(await search(searches.length));
  }
  await play(closerLook(readings, random));
  return { searches, sweepSeconds };
}

async function judged(launched: LaunchedServer, { server, model, budgetMs }: Subject): Promise<void> {
  const spec = {
    model,
    url: launched.grpcUrl,
    protocol: 'grpc',
    batch: 1,
    requestDistribution: 'poisson',
    requestRateRange: { start: 1, end: 1, step: 1 },
    traceSpeed: 1,
    latencyThreshold: 0,
    precision: 3,
    percentile: 99,
    maxOutage: 20,
    requestTimeout: 30,
    seed: 1,
  } as const satisfies ProfileSpec;
  const { signal } = new AbortController();
  const { url, protocol } = spec;
  const opened = await openServer({ url, protocol, dockerImage: '' }, { loadModels: [model] }, tmpdir(), signal);
  const target = await openTensors(opened, model, spec, await planProfile(spec, false), { signal });
  const rule = (seed: number): PlayingRule => ({
    budgetMs,
    seed,
    requestTimeoutSeconds: 30,
    windows: defaultWindowRule,
    scheduleAt: (perSecond, own) => ({ kind: 'poisson', perSecond, seed: own }),
    workload: null,
    distribution: 'poisson',
  });
  const [found, readings, times]: [number[], SweepReading[], number[]] = [[], [], []];
  for (let round = 1; round <= ROUNDS; round++) {
    const { searches, sweepSeconds } = await playRound(target, rule, budgetMs, round, readings);
    found.push(...searches.map((one) => one.capacity));
    times.push(median(searches.map(({ seconds }) => seconds)) / sweepSeconds);
    const own = searches.map(({ capacity, seconds }) => `${capacity.toFixed(0)} in ${seconds.toFixed(0)} s`).join(', ');
    print(
      `${server} ${model} ${budgetMs} ms, round ${round}: ${own} by bisection; ${crossing(readings).toFixed(0)} by all sweeps so far, ${sweepSeconds.toFixed(0)} s each; load ${loadavg()[0]?.toFixed(1)}`,
    );
  }
  const [ratio, time] = [median(found) / crossing(readings), median(times)];
  const isGood = Math.abs(Math.log(ratio)) <= WITHIN && time <= SHARE_OF_TIME;
  print(
    `${server} ${model} ${budgetMs} ms: ${ratio.toFixed(3)}× the sweep's, in ${time.toFixed(2)} of its time: ${isGood ? 'met' : 'MISSED'}`,
  );
  await target.close();
  await opened.close();
}

const asked = subjects.filter(({ server, model }) => ['', server, model].includes(ONLY));
const [emulated, real] = ['emulator', 'triton'].map((name) => asked.filter(({ server }) => server === name));

async function judgedOn(launch: () => Promise<LaunchedServer>, these: readonly Subject[] = []): Promise<void> {
  if (these.length === 0) return;
  const launched = await launch();
  try {
    for (const subject of these) await judged(launched, subject);
  } finally {
    await launched.stop();
  }
}

await judgedOn(async () => {
  const logDirectory = await mkdtemp(join(tmpdir(), 'tritune-bench-'));
  return launchEmulator({
    profile: 'slow-precision',
    script: resolve(import.meta.dirname, '../src/cli/main.ts'),
    logDirectory,
  });
}, emulated);
await judgedOn(async () => {
  const loadModels = subjects.flatMap(({ server, model }) => (server === 'triton' ? [model] : []));
  return startRealTriton(await makeModelRepository(), { loadModels });
}, real);
