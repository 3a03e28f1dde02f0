import { VirtualClock } from '../../base/clock.ts';
import { canonicalJson } from '../../base/json.ts';
import { standardNormal } from '../../base/random.ts';
import { BYTES_PER_MIB, MS_PER_S, NS_PER_S } from '../../base/units.ts';
import type { LoadLevel } from '../../loadgen/types.ts';
import type { GpuMemory } from '../../perfmodel/gpu-memory.ts';
import type { Measurement } from '../../profiler/measurement.ts';
import type { Candidate } from '../../space/types.ts';
import { onlyInstancesDiffer } from '../../triton/config-comparison.ts';
import { LoadRefusedError } from '../../triton/load-refused.ts';
import type { ModelConfig } from '../../triton/model-config.ts';
import type { Control, Profile } from '../seams.ts';
import { atSpeed, type MachineSpeed } from './machine-speed.ts';
import type { Landscape, Truth } from './problem.ts';
import { randomFor } from './random-for.ts';

/** Of a real tuning run: warm-up and windows, a change of instances alone where its own time is not known. */
const WINDOWS_MS = 1500;
const REST_WINDOWS_MS = 750;
const WARM_UP_MS = 500;
const IN_PLACE_MS = 300;
const LEVELS_OF_BASELINE = 2;
/** By how much a stall makes the p99 of a measurement longer. */
const STALLED = [1.2, 2] as const;
/** The host's fixed piece of work, and how much readings of it differ on an idle core. */
const HOST_WORK_US = 2000;
const HOST_NOISE = 0.02;
/** The speed of a measurement is the mean over so many moments of it. */
const SPEED_READINGS = 5;

/** What the servers of a landscape are like, beside its truth. */
export interface WorldOptions {
  readonly seed: number;
  /** False for servers that tell nothing but what clients see. */
  readonly statistics: boolean;
  /** True for GPUs whose memory is reported, where the landscape knows it. */
  readonly gpuMemory?: boolean;
  /** How fast the machine is meanwhile; always at full speed when not given. */
  readonly speed?: MachineSpeed | undefined;
  /** True for a server on the host of the load generator, whose own work then tells of the speed. */
  readonly isLocal?: boolean;
  /** The share of measurements that a stall makes late: their p99 is 1.2 to 2 times as long. None when not given. */
  readonly stalls?: number | undefined;
}

/** A landscape behind the tuner's own seams, in virtual time. Noise depends on seed, candidate, level and how often it was measured. */
export class OfflineWorld {
  readonly clock = new VirtualClock(Date.parse('2026-01-01T00:00:00Z'));
  readonly #landscape: Landscape;
  readonly #options: WorldOptions;
  readonly #measured = new Map<string, number>();
  #served: ModelConfig;
  /** Full loads, refused ones among them. */
  reloads = 0;

  readonly #startNs = this.clock.nowNs();

  constructor(landscape: Landscape, options: WorldOptions) {
    this.#landscape = landscape;
    this.#options = options;
    this.#served = landscape.baseline.config;
  }

  readonly control: Control = {
    apply: async (candidate, signal) => {
      const change = changeBetween(this.#served, candidate.config);
      const { inPlaceMs = IN_PLACE_MS } = this.#landscape;
      const loadMs = { none: 0, 'in-place': inPlaceMs, full: this.#landscape.loadMs(candidate) }[change];
      await this.clock.sleep(loadMs, signal);
      if (change === 'full') this.reloads++;
      const refusal = this.#landscape.refusal(candidate);
      if (refusal !== null) throw new LoadRefusedError('model', 'out-of-memory', refusal);
      this.#served = candidate.config;
      return { candidate, change, loadMs };
    },
    changed: async () => null,
    isReachable: async () => true,
    restore: async () => ({ how: 'nothing-changed', verified: true, detail: 'no server was changed' }),
  };

  /** What a search of so many trials takes, the original config's own levels included. */
  usualSeconds(trials: number): number {
    const loadMs = this.#landscape.loadMs(this.#landscape.baseline);
    const restMs = WARM_UP_MS + REST_WINDOWS_MS;
    return (restMs + (LEVELS_OF_BASELINE + trials) * (WARM_UP_MS + WINDOWS_MS) + trials * loadMs) / MS_PER_S;
  }

  readonly profile: Profile = {
    measure: async ({ candidate }, level, { signal, purpose }) => {
      await this.clock.sleep(WARM_UP_MS, signal);
      const fromSeconds = this.seconds;
      await this.clock.sleep(purpose === 'rest' ? REST_WINDOWS_MS : WINDOWS_MS, signal);
      return this.#measurement(candidate, level, this.speedBetween(fromSeconds, this.seconds));
    },
  };

  /** Since the study began. */
  get seconds(): number {
    return (this.clock.nowNs() - this.#startNs) / NS_PER_S;
  }

  /** The mean speed of the machine between two moments, in seconds since the study began. */
  speedBetween(fromSeconds: number, toSeconds: number): number {
    const { speed } = this.#options;
    if (!speed) return 1;
    const step = (toSeconds - fromSeconds) / SPEED_READINGS;
    const speeds = Array.from({ length: SPEED_READINGS }, (_, index) => speed(fromSeconds + (index + 0.5) * step));
    return speeds.reduce((sum, each) => sum + each, 0) / SPEED_READINGS;
  }

  #measurement(candidate: Candidate, level: LoadLevel, speed: number): Measurement {
    const key = `${this.#options.seed} ${candidate.fingerprint} ${level.value}`;
    const times = this.#measured.get(key) ?? 0;
    this.#measured.set(key, times + 1);
    const random = randomFor(`${key} ${times}`);
    const { noise } = this.#landscape;
    const truth = atSpeed(this.#landscape.truth(candidate, level.value), speed);
    const rate = Math.exp(noise.throughput * standardNormal(random));
    const latency = Math.exp(noise.latency * standardNormal(random));
    const stall = random.float() < (this.#options.stalls ?? 0) ? between(STALLED, random.float()) : 1;
    const measurement = measurementOf(truth, level, {
      ...{ rate, latency: latency * stall },
      ...{ rateWidth: 2 * noise.throughput, latencyWidth: 2 * noise.latency },
    });
    const { statistics, gpuMemory = false } = this.#options;
    const memory = gpuMemory ? this.#landscape.gpuMemory?.(candidate) : undefined;
    const hostWorkUs = (HOST_WORK_US / speed) * Math.exp(HOST_NOISE * standardNormal(random));
    return {
      ...measurement,
      device: deviceOf(memory),
      ...(!statistics && { server: null }),
      ...(this.#options.isLocal && { hostWorkUs }),
    };
  }
}

function deviceOf(memory: GpuMemory | undefined): Measurement['device'] {
  if (!memory) return {};
  const { usedMib, totalMib } = memory;
  const total = totalMib === null ? {} : { memoryTotalBytes: totalMib * BYTES_PER_MIB };
  return { gpuMemoryMiB: usedMib, gpus: [{ uuid: 'GPU-made-up', memoryBytes: usedMib * BYTES_PER_MIB, ...total }] };
}

interface Disturbance {
  readonly rate: number;
  readonly latency: number;
  readonly rateWidth: number;
  readonly latencyWidth: number;
}

function measurementOf(truth: Truth, level: LoadLevel, disturbance: Disturbance): Measurement {
  const throughput = truth.throughput * disturbance.rate;
  const { avg, p50, p90, p95, p99 } = truth.latencyMs;
  // What slows all requests down slows the middle ones and the tail; the tail has luck of its own beside.
  const [middle, tail] = [1 / disturbance.rate, disturbance.latency];
  const split = truth.split ?? { inputUs: 0.1 * truth.computeUs, outputUs: 0.05 * truth.computeUs, overheadUs: 0 };
  const requests = Math.max(50, Math.round((throughput * WINDOWS_MS) / 1e3));
  const spread = (value: number, width: number) => ({ value, low: value * (1 - width), high: value * (1 + width) });
  return {
    level,
    throughput: spread(throughput, disturbance.rateWidth),
    latencyMs: {
      avg: avg * middle,
      p50: p50 * middle,
      p90: p90 * middle,
      p95: p95 * tail,
      p99: p99 * tail,
      max: 1.2 * p99 * tail,
      min: p50 / 2,
      std: p99 - p50,
    },
    budgetLatencyMs: { ...spread(p99 * tail, disturbance.latencyWidth), percentile: 99 },
    stable: true,
    windows: 3,
    durationMs: WINDOWS_MS,
    requests,
    sendRate: throughput,
    failures: [],
    errorRate: 0,
    server: {
      queueUs: truth.queueUs,
      computeInputUs: split.inputUs,
      computeInferUs: truth.computeUs - split.inputUs - split.outputUs,
      computeOutputUs: split.outputUs,
      overheadUs: split.overheadUs,
      requestUs: truth.queueUs + truth.computeUs + split.overheadUs,
      successCount: requests,
      inferenceCount: requests,
      executionCount: truth.batches.reduce((sum, { executions }) => sum + executions, 0),
      failCount: 0,
      cache: { hitCount: 0, hitUs: 0, missCount: 0, missUs: 0 },
      batches: truth.batches,
    },
    device: {},
    client: { cpuUsPerRequest: 20, eventLoopDelayMs: 0, bound: false },
  };
}

const between = ([low, high]: readonly [number, number], share: number): number => low + (high - low) * share;

function changeBetween(served: ModelConfig, asked: ModelConfig): 'none' | 'in-place' | 'full' {
  if (canonicalJson(served) === canonicalJson(asked)) return 'none';
  return onlyInstancesDiffer(served, asked) ? 'in-place' : 'full';
}
