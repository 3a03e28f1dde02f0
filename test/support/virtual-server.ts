import { VirtualClock } from '#base/clock.ts';
import { canonicalJson } from '#base/json.ts';
import { seededRandom } from '#base/random.ts';
import { MS_PER_S, NS_PER_MS, NS_PER_S, NS_PER_US, nsToMs } from '#base/units.ts';
import type { EmulatorProfile, ModelProfile } from '#emulator/profile/schema.ts';
import { createModelSimulator, listArms, toLaw } from '#emulator/profile/simulators.ts';
import { place } from '#emulator/scheduling/placement.ts';
import type { LoadLevel } from '#loadgen/types.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { executionNs } from '#queueing/service-law.ts';
import { enoughRequests, type SimulationOptions, simulate } from '#queueing/simulate.ts';
import type { Traffic } from '#queueing/traffic.ts';
import { toModelConfig } from '#space/model-configs.ts';
import { readShape } from '#space/shape.ts';
import { onlyInstancesDiffer } from '#triton/config/comparison.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import type { Control, Profile as Profiler } from '#tuner/adapter.ts';
import { CandidateRefusedError } from '#tuner/refused.ts';
import { measured } from '../study/builders.ts';

const MEASURE_MS = 3000;
const REQUESTS = 3000;

/** An emulator's only model in virtual time: what its profile says, simulated, without sockets. */
export class VirtualServer {
  readonly clock = new VirtualClock(Date.parse('2026-01-01T00:00:00Z'));
  readonly #profile: EmulatorProfile;
  readonly #model: ModelProfile;
  #served: ModelConfig;
  #seed: number;

  constructor(profile: EmulatorProfile, seed = 1) {
    this.#seed = seed;
    this.#profile = profile;
    this.#model = profile.models[0] as ModelProfile;
    this.#served = this.#model.config as ModelConfig;
  }

  get original(): ModelConfig {
    return this.#model.config as ModelConfig;
  }

  readonly control: Control = {
    apply: async (candidate, signal) => {
      const config = toModelConfig(candidate);
      if (canonicalJson(config) === canonicalJson(this.#served)) return { candidate, change: 'none', loadMs: 0 };
      const change = onlyInstancesDiffer(this.#served, config) ? 'in-place' : 'full';
      const { load } = createModelSimulator(this.#model, config, seededRandom(1));
      const added = this.#instancesOf(config) - this.#instancesOf(this.#served);
      const inPlaceSeconds = added > 0 ? load.addSeconds : -added * load.removeSeconds;
      const loadMs = MS_PER_S * (change === 'full' ? load.fullSeconds : inPlaceSeconds);
      await this.clock.sleep(loadMs, signal);
      this.#admit(config);
      this.#served = config;
      return { candidate, change, loadMs };
    },
    changed: async () => null,
    isReachable: async () => true,
    restore: async () => {
      this.#served = this.original;
      return { how: 'config', verified: true, detail: 'put back' };
    },
  };

  readonly profiler: Profiler = {
    measure: async (_, { mode, value }, { signal }) => {
      await this.clock.sleep(MEASURE_MS, signal);
      return mode === 'concurrency' ? this.measure(this.#served, value) : this.measureAtRate(this.#served, value);
    },
  };

  /** What a client sees of a config in a closed loop. */
  measure(config: ModelConfig, concurrency: number): Measurement {
    const traffic = { kind: 'closed', concurrency, roundTripNs: this.#model.network_ms * NS_PER_MS } as const;
    const extent = { warmUpRequests: 4 * concurrency, requests: enoughRequests(REQUESTS, concurrency) };
    return this.#measure(config, traffic, extent, { mode: 'concurrency', value: concurrency });
  }

  /** The same in an open loop, with requests evenly spaced. */
  measureAtRate(config: ModelConfig, perSecond: number): Measurement {
    const arrivalsNs = Float64Array.from({ length: REQUESTS + 200 }, (_, index) => (index * NS_PER_S) / perSecond);
    const traffic = { kind: 'open', arrivalsNs, roundTripNs: this.#model.network_ms * NS_PER_MS } as const;
    return this.#measure(
      config,
      traffic,
      { warmUpRequests: 200, requests: REQUESTS },
      { mode: 'request-rate', value: perSecond },
    );
  }

  #measure(
    config: ModelConfig,
    traffic: Traffic,
    extent: Omit<SimulationOptions, 'seed'>,
    level: LoadLevel,
  ): Measurement {
    const law = toLaw(this.#model, listArms(this.#model, config));
    const { policy } = readShape(config);
    const run = simulate(policy, law, traffic, { ...extent, seed: this.#seed++ });
    const { mean, p50, p90, p95, p99 } = run.latencyNs;
    const batches = Array.from(run.executions, (executions, size) => ({ size, executions }))
      .filter(({ executions }) => executions > 0)
      .map((batch) => ({ ...batch, meanExecutionUs: executionNs(law, batch.size, run.busyInstances) / NS_PER_US }));
    const computeUs = run.computeNs / NS_PER_US;
    const figures = measured(level.value, run.requestsPerSecond, nsToMs(p99), { level });
    const latencyMs = { avg: nsToMs(mean), p50: nsToMs(p50), p90: nsToMs(p90), p95: nsToMs(p95), p99: nsToMs(p99) };
    return {
      ...figures,
      latencyMs: { ...figures.latencyMs, ...latencyMs },
      requests: run.requests,
      durationMs: (run.requests / run.requestsPerSecond) * MS_PER_S,
      server: {
        queueUs: run.queueNs / NS_PER_US,
        computeInputUs: computeUs * law.split.input,
        computeInferUs: computeUs * (1 - law.split.input - law.split.output),
        computeOutputUs: computeUs * law.split.output,
        overheadUs: 0,
        requestUs: (run.queueNs + run.computeNs) / NS_PER_US,
        successCount: run.requests,
        inferenceCount: run.requests,
        executionCount: batches.reduce((sum, { executions }) => sum + executions, 0),
        failCount: 0,
        cache: { hitCount: 0, hitUs: 0, missCount: 0, missUs: 0 },
        batches,
      },
    };
  }

  #instancesOf(config: ModelConfig): number {
    return place(this.#model.config.name, config, {
      gpus: this.#profile.device.kind === 'gpu' ? this.#profile.device.count : 0,
    }).instances;
  }

  /** As the emulator's own admission. */
  #admit(config: ModelConfig): void {
    const { refusal, maxInstances, memoryMib } = createModelSimulator(this.#model, config, seededRandom(1));
    const instances = this.#instancesOf(config);
    const refuse = (kind: CandidateRefusedError['kind'], words: string): never => {
      throw new CandidateRefusedError(kind, words);
    };
    if (refusal !== null) refuse('init-failed', refusal);
    if (instances > maxInstances) refuse('init-failed', `the model allows ${maxInstances} instances`);
    if (memoryMib(instances) > this.#profile.device.memory_mib) refuse('out-of-memory', 'out of memory');
  }
}
