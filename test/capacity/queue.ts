import { VirtualClock } from '#base/clock.ts';
import { seededRandom } from '#base/random.ts';
import { nsToMs } from '#base/units.ts';
import type { CapacityLoads, CourseWindow, PlayedLoad, RateMeasurement } from '#capacity/loads.ts';
import { burstArrivals, type RatePhase } from '#capacity/play.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { meanInterval } from '#stats/batch-means.ts';
import { measured } from '../study/builders.ts';

/**
 * A queue in virtual time: servers that take one request after the other, each for the same time.
 */
export interface QueueModel {
  readonly servers: number;
  readonly serviceMs: number;
  readonly budgetMs: number;
}

const BATCHES = 40;
const SECONDS = 8;

/** The latencies in milliseconds of requests that arrive at these times, in their order. */
export function latenciesMs(arrivalsNs: readonly number[], { servers, serviceMs }: QueueModel): Float64Array {
  const freeMs = new Float64Array(servers);
  return Float64Array.from(arrivalsNs, (arrivalNs) => {
    const atMs = arrivalNs / 1e6;
    const server = freeMs.indexOf(Math.min(...freeMs));
    freeMs[server] = Math.max(freeMs[server] as number, atMs) + serviceMs;
    return (freeMs[server] as number) - atMs;
  });
}

/** The rate at which one request in a hundred is over the budget, by long runs. */
export function trueCapacity(model: QueueModel): number {
  const saturation = (model.servers * 1000) / model.serviceMs;
  let [low, high] = [saturation / 100, saturation];
  for (let step = 0; step < 12; step++) {
    const rate = (low + high) / 2;
    const arrivals = burstArrivals([{ perSecond: rate, seconds: 300_000 / rate }], {
      seed: 7,
      distribution: 'poisson',
    });
    const late = latenciesMs(arrivals, model).filter((ms) => ms > model.budgetMs).length;
    if (late / arrivals.length <= 0.01) low = rate;
    else high = rate;
  }
  return (low + high) / 2;
}

/** Loads on such a queue. `seen` has every rate that was asked for. */
export function queueLoads(model: QueueModel, seed: number) {
  const clock = new VirtualClock();
  const seen: number[] = [];
  const random = seededRandom(seed);
  const draw = () => ({ seed: random.int(1, 1e9), distribution: 'poisson' as const });
  const played = async (
    perSecond: number,
    phases: readonly { perSecond: number; seconds: number }[],
  ): Promise<PlayedLoad & Pick<RateMeasurement, 'arrivals'>> => {
    const arrivals = burstArrivals(phases, draw());
    const seconds = phases.reduce((sum, phase) => sum + phase.seconds, 0);
    clock.advance(seconds * 1000);
    const load = playedLoad(arrivals, latenciesMs(arrivals, model), model.budgetMs, perSecond, seconds);
    // Every request counts, whenever its reply comes.
    const counted = { from: -1, to: Number.POSITIVE_INFINITY };
    return { ...load, arrivals: { dueMs: Float64Array.from(arrivals, nsToMs), countedMs: [counted] } };
  };
  const inTime = (seconds: number, untilNs = Number.POSITIVE_INFINITY): number =>
    Math.max(0, Math.min(seconds, (untilNs - clock.nowNs()) / 1e9));
  const atRate = async (perSecond: number, wanted: number, untilNs?: number): Promise<RateMeasurement> => {
    seen.push(perSecond);
    const seconds = inTime(wanted, untilNs);
    const { measurement, arrivals } = await played(perSecond, [{ perSecond, seconds }]);
    return { ...measurement, ...(arrivals && { arrivals }) };
  };
  const loads: CapacityLoads = {
    scouting: {
      kind: 'closed-loops',
      measure: async (concurrency) => {
        const busy = Math.min(concurrency, model.servers);
        const perSecond = (busy * 1000) / model.serviceMs;
        return measured(concurrency, perSecond, (concurrency / perSecond) * 1000);
      },
    },
    atRate: (perSecond, length, untilNs) => atRate(perSecond, length === 'verdict' ? SECONDS / 2 : SECONDS, untilNs),
    atLength: (perSecond, untilNs) => atRate(perSecond, 2 * SECONDS, untilNs),
    forSeconds: (perSecond, seconds, untilNs) => played(perSecond, [{ perSecond, seconds: inTime(seconds, untilNs) }]),
    burst: (perSecond, { factor, seconds }, afterSeconds) =>
      played(perSecond, [
        { perSecond: perSecond * factor, seconds },
        { perSecond, seconds: afterSeconds },
      ]),
  };
  return { loads, clock, seen };
}

/** Returns the phases at a mean rate of this many requests per second. */
function phasesAt(phases: readonly RatePhase[], perSecond: number): readonly RatePhase[] {
  const seconds = phases.reduce((sum, phase) => sum + phase.seconds, 0);
  const mean = phases.reduce((sum, phase) => sum + phase.perSecond * phase.seconds, 0) / seconds;
  return phases.map((phase) => ({ ...phase, perSecond: (phase.perSecond * perSecond) / mean }));
}

const PASSES = 100;

/**
 * The mean rate of a workload at which this share of its requests is over the budget, over many
 * passes.
 */
export function workloadCapacity(model: QueueModel, phases: readonly RatePhase[], share: number): number {
  let [low, high] = [0, (2000 * model.servers) / model.serviceMs];
  for (let step = 0; step < 12; step++) {
    const rate = (low + high) / 2;
    let [late, all] = [0, 0];
    for (let seed = 0; seed < PASSES; seed++) {
      const latencies = latenciesMs(burstArrivals(phasesAt(phases, rate), { seed, distribution: 'poisson' }), model);
      late += latencies.filter((ms) => ms > model.budgetMs).length;
      all += latencies.length;
    }
    if (late <= share * all) low = rate;
    else high = rate;
  }
  return (low + high) / 2;
}

/**
 * Loads of a workload on such a queue, each one pass with arrivals of its own. `perSecond`: its own
 * mean rate.
 */
export function workloadLoads(model: QueueModel, phases: readonly RatePhase[], perSecond: number, seed: number) {
  const { loads, clock, seen } = queueLoads(model, 1);
  const passSeconds = phases.reduce((sum, phase) => sum + phase.seconds, 0);
  const pass = async (rate: number): Promise<RateMeasurement> => {
    seen.push(rate);
    clock.advance(passSeconds * 1000);
    const arrivals = burstArrivals(phasesAt(phases, rate), {
      seed: PASSES * seed + seen.length,
      distribution: 'poisson',
    });
    return playedLoad(arrivals, latenciesMs(arrivals, model), model.budgetMs, rate, passSeconds).measurement;
  };
  const workload: CapacityLoads = {
    ...loads,
    scouting: { kind: 'rate', perSecond, passSeconds },
    atRate: pass,
    atLength: pass,
    forSeconds: async (rate) => ({ measurement: await pass(rate), windows: [] }),
  };
  return { loads: workload, clock, seen };
}

function playedLoad(
  arrivalsNs: readonly number[],
  latencies: Float64Array,
  budgetMs: number,
  perSecond: number,
  seconds: number,
): PlayedLoad {
  const [late, all] = [0, 0].map(() => new Array<number>(BATCHES).fill(0)) as [number[], number[]];
  const sums = new Array<number>(BATCHES).fill(0);
  const worst = new Array<number>(BATCHES).fill(0);
  for (const [index, ms] of latencies.entries()) {
    const arrivalNs = arrivalsNs[index] as number;
    const batch = Math.min(BATCHES - 1, Math.floor((arrivalNs / 1e9 / seconds) * BATCHES));
    all[batch] = (all[batch] as number) + 1;
    sums[batch] = (sums[batch] as number) + ms;
    worst[batch] = Math.max(worst[batch] as number, ms);
    if (ms > budgetMs) late[batch] = (late[batch] as number) + 1;
  }
  const sorted = latencies.toSorted();
  const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? 0;
  const inTime = latencies.filter((ms, index) => (arrivalsNs[index] as number) / 1e6 + ms <= seconds * 1000).length;
  const share = inTime / arrivalsNs.length;
  const figures = measured(1, share * perSecond, p99);
  const throughput = { value: share * perSecond, low: (share - 0.01) * perSecond, high: (share + 0.01) * perSecond };
  const measurement: Measurement = {
    ...figures,
    latencyMs: { ...figures.latencyMs, p50: sorted[sorted.length >> 1] ?? 0, p99 },
    level: { mode: 'request-rate', value: perSecond },
    throughput,
    requests: arrivalsNs.length,
    sendRate: arrivalsNs.length / seconds,
    durationMs: seconds * 1000,
    badShare: meanInterval(late, all),
  };
  const windows = all.map(
    (requests, index): CourseWindow => ({
      endSeconds: ((index + 1) * seconds) / BATCHES,
      perSecond: (requests * BATCHES) / seconds,
      meanMs: (sums[index] as number) / Math.max(requests, 1),
      percentileMs: worst[index] as number,
    }),
  );
  return { measurement, windows };
}
