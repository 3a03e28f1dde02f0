import { mkdtemp } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { median } from 'simple-statistics';
import { loadsOn, type PlayingRule } from '../src/app/capacity/loads.ts';
import { planProfile } from '../src/app/profile/plan.ts';
import type { ProfileSpec } from '../src/app/profile/profile-spec.ts';
import { openProfileTarget } from '../src/app/profile/target.ts';
import { openServer } from '../src/app/server/open-server.ts';
import { realClock } from '../src/base/clock.ts';
import { NS_PER_S } from '../src/base/units.ts';
import type { CapacityLoads } from '../src/capacity/loads.ts';
import type { CapacityQuestion } from '../src/capacity/question.ts';
import { readingOf } from '../src/capacity/reading.ts';
import { runCapacity } from '../src/capacity/run.ts';
import { freshState } from '../src/capacity/state.ts';
import { launchEmulator } from '../src/launch/emulator-server.ts';
import type { LaunchedServer } from '../src/launch/types.ts';
import { defaultWindowRule } from '../src/profiler/level-options.ts';
import type { Measurement } from '../src/profiler/measurement.ts';
import { makeModelRepository, startRealTriton } from '../test/support/real-triton.ts';

/**
 * The capacity by bisection against that by an exhaustive sweep of rates, on an emulator and on a real Triton, in turn: `node bench/capacity.ts`.
 * The sweep measures every rate of a grid of 3 % as long as the answer is measured, from half to 1.1 times what a closed loop serves; its
 * capacity is where the share of late requests crosses what the percentile allows, by isotonic regression. Asked for: within 3 %, in a quarter of
 * the sweep's time. `TRITUNE_BENCH_ROUNDS` (3) sets the rounds; `TRITUNE_BENCH_ONLY` (emulator, triton) the servers.
 */
const ROUNDS = Number(process.env.TRITUNE_BENCH_ROUNDS ?? 3);
const ONLY = process.env.TRITUNE_BENCH_ONLY ?? '';
const WITHIN = 0.03;
const SHARE_OF_TIME = 0.25;
const STEP = 1.03;
const SWEEP = { from: 0.5, to: 1.1 } as const;

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

/** Returns the seconds of the search alone, because the sweep has no cliff either. */
async function bisected(loads: CapacityLoads, budgetMs: number): Promise<{ capacity: number; seconds: number }> {
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

async function swept(loads: CapacityLoads, budgetMs: number): Promise<{ capacity: number; seconds: number }> {
  const startNs = realClock.nowNs();
  if (loads.scouting.kind !== 'closed-loops') throw new Error('no closed loops');
  const saturation = (await loads.scouting.measure(64)).throughput.value;
  const points: { rate: number; bad: number; requests: number }[] = [];
  for (let rate = SWEEP.from * saturation; rate <= SWEEP.to * saturation; rate *= STEP) {
    const measurement = await loads.atLength(rate);
    show(measurement);
    const { limit, batch } = question(budgetMs);
    const { bad, requests } = readingOf(measurement, { limit, batch, usualHostWorkUs: null });
    points.push({ rate, bad: bad.mean, requests });
  }
  return { capacity: crossing(points), seconds: (realClock.nowNs() - startNs) / NS_PER_S };
}

/** Returns where shares that rise with the rate (pool-adjacent-violators) cross 1 %, interpolated by the logarithm of the share. */
function crossing(points: readonly { rate: number; bad: number; requests: number }[]): number {
  const pools = points.map(({ rate, bad, requests }) => ({ rates: [rate], sum: bad * requests, requests }));
  for (let at = 0; at + 1 < pools.length; ) {
    const [here, next] = [pools[at], pools[at + 1]] as [(typeof pools)[number], (typeof pools)[number]];
    if (here.sum / here.requests <= next.sum / next.requests) {
      at++;
      continue;
    }
    pools.splice(at, 2, {
      rates: [...here.rates, ...next.rates],
      sum: here.sum + next.sum,
      requests: here.requests + next.requests,
    });
    at = Math.max(0, at - 1);
  }
  const flat = pools.flatMap(({ rates, sum, requests }) => rates.map((rate) => ({ rate, share: sum / requests })));
  const above = flat.findIndex(({ share }) => share > 0.01);
  if (above <= 0) return flat.at(above < 0 ? -1 : 0)?.rate ?? 0;
  const [low, high] = [flat[above - 1], flat[above]] as [(typeof flat)[number], (typeof flat)[number]];
  const log = (share: number): number => Math.log(Math.max(share, 1e-4));
  const part = (log(0.01) - log(low.share)) / (log(high.share) - log(low.share));
  return low.rate * (high.rate / low.rate) ** part;
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
    requestTimeout: 30,
    seed: 1,
  } as const satisfies ProfileSpec;
  const { signal } = new AbortController();
  const { url, protocol } = spec;
  const opened = await openServer({ url, protocol, dockerImage: '' }, { loadModels: [model] }, tmpdir(), signal);
  const target = await openProfileTarget(opened, model, spec, await planProfile(spec, false), signal);
  const rule = (seed: number): PlayingRule => ({
    budgetMs,
    seed,
    requestTimeoutSeconds: 30,
    windows: defaultWindowRule,
    scheduleAt: (perSecond, own) => ({ kind: 'poisson', perSecond, seed: own }),
    workload: null,
    distribution: 'poisson',
  });
  const [ratios, times]: [number[], number[]] = [[], []];
  for (let round = 1; round <= ROUNDS; round++) {
    const one = await bisected(loadsOn(target, rule(1000 * round)), budgetMs);
    const all = await swept(loadsOn(target, rule(1000 * round + 500)), budgetMs);
    ratios.push(one.capacity / all.capacity);
    times.push(one.seconds / all.seconds);
    const seconds = `${one.seconds.toFixed(0)} s of ${all.seconds.toFixed(0)} s`;
    print(
      `${server} ${model} ${budgetMs} ms, round ${round}: ${one.capacity.toFixed(0)} by bisection, ${all.capacity.toFixed(0)} by sweep, ${seconds}, load ${loadavg()[0]?.toFixed(1)}`,
    );
  }
  const [ratio, time] = [median(ratios), median(times)];
  const isGood = Math.abs(Math.log(ratio)) <= WITHIN && time <= SHARE_OF_TIME;
  print(
    `${server} ${model} ${budgetMs} ms: ${ratio.toFixed(3)}× the sweep's, in ${time.toFixed(2)} of its time: ${isGood ? 'met' : 'MISSED'}`,
  );
  await target.close();
  await opened.close();
}

if (ONLY !== 'triton') {
  const launched = await launchEmulator({
    profile: 'slow-precision',
    script: resolve(import.meta.dirname, '../src/cli/main.ts'),
    logDirectory: await mkdtemp(join(tmpdir(), 'tritune-bench-')),
  });
  try {
    for (const subject of subjects.filter(({ server }) => server === 'emulator')) await judged(launched, subject);
  } finally {
    await launched.stop();
  }
}
if (ONLY !== 'emulator') {
  const loadModels = subjects.flatMap(({ server, model }) => (server === 'triton' ? [model] : []));
  const launched = await startRealTriton(await makeModelRepository(), { loadModels });
  try {
    for (const subject of subjects.filter(({ server }) => server === 'triton')) await judged(launched, subject);
  } finally {
    await launched.stop();
  }
}
