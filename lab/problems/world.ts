import { VirtualClock } from '../../src/base/clock.ts';
import { randomFor, standardNormal } from '../../src/base/random.ts';
import { BYTES_PER_MIB, MS_PER_S, NS_PER_S, nsToMs } from '../../src/base/units.ts';
import type { LoadLevel } from '../../src/loadgen/types.ts';
import type { GpuMemory } from '../../src/perfmodel/gpu-memory.ts';
import type { Measurement } from '../../src/profiler/measurement.ts';
import { measureWorkloads } from '../../src/profiler/workloads/measure-workloads.ts';
import { listDifferences } from '../../src/space/differences.ts';
import { changesInPlace } from '../../src/space/shape.ts';
import type { Candidate } from '../../src/space/types.ts';
import type { ServerIdentity } from '../../src/study/records/records.ts';
import type { Applied, MeasureOptions, ServerAdapter } from '../../src/tuner/adapter.ts';
import { CandidateRefusedError } from '../../src/tuner/refused.ts';
import type { StudyWorkload } from '../../src/workload/study-workloads.ts';
import { pipelineMeasurement } from '../pipelines/pipeline-measurement.ts';
import type { MachineSpeed } from './machine-speed.ts';
import { toMeasurement, WINDOWS_MS } from './measurement-of.ts';
import type { TestProblem } from './problem.ts';
import { atSpeed } from './truth.ts';

/** Durations of a usual tuning run, in milliseconds. */
const REST_WINDOWS_MS = 750;
const WARM_UP_MS = 500;
const IN_PLACE_MS = 300;
const LEVELS_OF_BASELINE = 2;
/** The range of the factor of a stall on p99. */
const STALLED = [1.2, 2] as const;
/** Duration of the host's fixed piece of work, and its relative noise on an idle core. */
const HOST_WORK_US = 2000;
const HOST_NOISE = 0.02;
/** Moments over which the speed of a measurement is averaged. */
const SPEED_READINGS = 5;

/** Properties of the servers other than the truth of a test problem. */
export interface WorldOptions {
  readonly seed: number;
  /** False for servers without statistics. */
  readonly statistics: boolean;
  /** True for GPUs that report their memory, if the test problem has it. */
  readonly gpuMemory?: boolean;
  /** The machine's speed over time; constantly 1 when absent. */
  readonly speed?: MachineSpeed | undefined;
  /** True for a server on the load generator's host, whose own work then shows the speed. */
  readonly isLocal?: boolean;
  /**
   * The share of measurements that a stall delays, with a p99 1.2 to 2 times as long; none if
   * absent.
   */
  readonly stalls?: number | undefined;
}

/** The name of a replay's adapter in journals. */
export const REPLAY = 'replay';
export const NOWHERE: ServerIdentity = {
  name: 'offline',
  version: '',
  url: '',
  protocol: '',
  controlUrl: '',
  controlProtocol: '',
  emulated: null,
};

/**
 * A test problem as seen by the tuner, in virtual time. Noise depends on seed, candidate, level and
 * the number of earlier measurements.
 */
export class OfflineWorld {
  readonly clock = new VirtualClock(Date.parse('2026-01-01T00:00:00Z'));
  readonly #testProblem: TestProblem;
  readonly #options: WorldOptions;
  readonly #measured = new Map<string, number>();
  #served: Candidate;
  /** The test problem as a server to tune. */
  readonly adapter: ServerAdapter;
  /** Full loads, including refused ones. */
  reloads = 0;

  readonly #startNs = this.clock.nowNs();

  constructor(testProblem: TestProblem, options: WorldOptions) {
    this.#testProblem = testProblem;
    this.#options = options;
    this.#served = testProblem.baseline;
    this.adapter = this.#adapterTo(testProblem);
  }

  #adapterTo(testProblem: TestProblem): ServerAdapter {
    const { baseline, space } = testProblem;
    return {
      name: REPLAY,
      identity: NOWHERE,
      original: baseline,
      build: (assignment) =>
        Object.keys(assignment).length === 0 ? { legal: true, candidate: baseline } : space.build(assignment),
      diff: listDifferences,
      documents: () => [],
      apply: (candidate, signal) => this.#apply(candidate, signal),
      changed: async () => null,
      isReachable: async () => true,
      restore: async () => {
        this.#served = baseline;
        return { how: 'nothing-changed', verified: true, detail: 'no server was changed' };
      },
      measure: ({ candidate }, level, options) => this.#measure(candidate, level, options),
    };
  }

  async #apply(candidate: Candidate, signal: AbortSignal): Promise<Applied> {
    const change = changeBetween(this.#served, candidate);
    const { inPlaceMs = IN_PLACE_MS } = this.#testProblem;
    const loadMs = { none: 0, 'in-place': inPlaceMs, full: this.#testProblem.loadMs(candidate) }[change];
    await this.clock.sleep(loadMs, signal);
    if (change === 'full') this.reloads++;
    const refusal = this.#testProblem.refusal(candidate);
    if (refusal !== null) throw new CandidateRefusedError('out-of-memory', refusal);
    this.#served = candidate;
    return { candidate, change, loadMs };
  }

  async #measure(
    candidate: Candidate,
    level: LoadLevel,
    { signal, purpose }: Pick<MeasureOptions, 'signal' | 'purpose'>,
  ): Promise<Measurement> {
    const { under } = this.#testProblem;
    if (under) return this.#measureUnder(under, candidate, level, signal);
    await this.clock.sleep(WARM_UP_MS, signal);
    const fromSeconds = this.seconds;
    await this.clock.sleep(purpose === 'rest' ? REST_WINDOWS_MS : WINDOWS_MS, signal);
    return this.#measurement(candidate, level, this.speedBetween(fromSeconds, this.seconds));
  }

  /** One pass of each workload in turn. */
  #measureUnder(
    { workloads: { rule, workloads }, truth }: NonNullable<TestProblem['under']>,
    candidate: Candidate,
    level: LoadLevel,
    signal: AbortSignal,
  ): Promise<Measurement> {
    return measureWorkloads(rule, level, workloads, async (place, level) => {
      const { name, planAt } = workloads[place] as StudyWorkload;
      const plan = planAt(level.value);
      await this.clock.sleep(WARM_UP_MS, signal);
      const fromSeconds = this.seconds;
      await this.clock.sleep(nsToMs(plan.durationNs), signal);
      const speed = this.speedBetween(fromSeconds, this.seconds);
      return this.#measurement(candidate, level, speed, truth(candidate, plan), name);
    });
  }

  /**
   * Returns the seconds that a search of this many trials takes, including the baseline's own
   * levels.
   */
  usualSeconds(trials: number): number {
    const loadMs = this.#testProblem.loadMs(this.#testProblem.baseline);
    const restMs = WARM_UP_MS + REST_WINDOWS_MS;
    return (restMs + (LEVELS_OF_BASELINE + trials) * (WARM_UP_MS + WINDOWS_MS) + trials * loadMs) / MS_PER_S;
  }

  /** Seconds since the study began. */
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

  #measurement(
    candidate: Candidate,
    level: LoadLevel,
    speed: number,
    usual = this.#testProblem.truth(candidate, level.value),
    workload = '',
  ): Measurement {
    const key = `${this.#options.seed} ${candidate.fingerprint} ${level.value}${workload}`;
    const times = this.#measured.get(key) ?? 0;
    this.#measured.set(key, times + 1);
    const random = randomFor(`${key} ${times}`);
    const { noise } = this.#testProblem;
    const truth = atSpeed(usual, speed);
    const rate = Math.exp(noise.throughput * standardNormal(random));
    const latency = Math.exp(noise.latency * standardNormal(random));
    const stall = random.float() < (this.#options.stalls ?? 0) ? between(STALLED, random.float()) : 1;
    const disturbance = {
      rate,
      latency: latency * stall,
      rateWidth: 2 * noise.throughput,
      latencyWidth: 2 * noise.latency,
    };
    const { topology } = this.#testProblem;
    const measurement = topology
      ? pipelineMeasurement(truth, level, topology, disturbance, random)
      : toMeasurement(truth, level, disturbance);
    const { statistics, gpuMemory = false } = this.#options;
    const memory = gpuMemory ? this.#testProblem.gpuMemory?.(candidate) : undefined;
    const hostWorkUs = (HOST_WORK_US / speed) * Math.exp(HOST_NOISE * standardNormal(random));
    return {
      ...measurement,
      device: toDevice(memory),
      ...(!statistics && { server: null }),
      ...(this.#options.isLocal && { hostWorkUs }),
    };
  }
}

function toDevice(memory: GpuMemory | undefined): Measurement['device'] {
  if (!memory) return {};
  const { usedMib, totalMib } = memory;
  const total = totalMib === null ? {} : { memoryTotalBytes: totalMib * BYTES_PER_MIB };
  return { gpuMemoryMiB: usedMib, gpus: [{ uuid: 'GPU-made-up', memoryBytes: usedMib * BYTES_PER_MIB, ...total }] };
}

const between = ([low, high]: readonly [number, number], share: number): number => low + (high - low) * share;

function changeBetween(served: Candidate, candidate: Candidate): 'none' | 'in-place' | 'full' {
  if (served.fingerprint === candidate.fingerprint) return 'none';
  return changesInPlace(served.shape, candidate.shape) ? 'in-place' : 'full';
}
