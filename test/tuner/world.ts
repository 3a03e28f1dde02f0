import { VirtualClock } from '#base/clock.ts';
import { TrituneError } from '#base/errors.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { toModelConfig } from '#space/model-configs.ts';
import type { Candidate } from '#space/types.ts';
import type { StudyRecord } from '#study/records/records.ts';
import type { StudyState } from '#study/records/state.ts';
import { manualSampler } from '#study/search/samplers/manual.ts';
import type { SpaceView } from '#study/search/samplers/space-view.ts';
import type { Goal, Sampler } from '#study/types.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import type { Control, Profile, Restored, TunedAdapter } from '#tuner/adapter.ts';
import { CandidateRefusedError } from '#tuner/refused.ts';
import type { TuneParts, TunePlan } from '#tuner/run.ts';
import type { TunerEvent } from '#tuner/seams.ts';
import { tune } from '#tuner/tune.ts';
import { configOf, goalOf, measured, originalConfig, studyStarted, toCandidate } from '../study/builders.ts';

const MEASURE_MS = 3_000;
const LOAD_MS = 1_000;

export const instancesIn = (config: ModelConfig): number => config.instance_group?.[0]?.count ?? 1;

/** Instances 1 to 4 by batch 1, 4, 8. */
export const space: SpaceView = {
  *assignments() {
    for (const batch of [1, 4, 8]) for (const count of [1, 2, 3, 4]) yield { batch, count };
  },
  sample: (random) => ({ batch: [1, 4, 8][random.int(0, 2)] as number, count: random.int(1, 4) }),
  complete: (wanted, random) => ({ ...space.sample(random), ...wanted }),
  build(assignment) {
    const { batch, count } = assignment as { batch: number; count: number };
    return { legal: true, candidate: toCandidate(configOf(count, batch), assignment) };
  },
};

/** Every candidate of a space in its order, at the level search's levels. */
export const everyCandidate = (of: SpaceView): Sampler => manualSampler(of, [...of.assignments()]);

/** A sampler that is watched: when it has stopped, the final comes. */
export function untilItStops(sampler: Sampler): { readonly sampler: Sampler; hasStopped(): boolean } {
  let stopped = false;
  return {
    sampler: {
      ask: (history, remaining) => {
        const answer = sampler.ask(history, remaining);
        stopped = answer.kind === 'stop';
        return answer;
      },
    },
    hasStopped: () => stopped,
  };
}

/**
 * A model in memory and virtual time: each instance adds 100 infer/s, more with larger batches;
 * latency by Little's law.
 */
export class World {
  readonly clock = new VirtualClock(Date.parse('2026-01-01T00:00:00Z'));
  served: ModelConfig = originalConfig;
  readonly loads: string[] = [];
  restores = 0;
  /** Throws for a candidate that the server does not take. */
  refuse: (candidate: Candidate) => void = () => undefined;
  /** Throws, or bends the measurement. */
  bend: (measurement: Measurement, config: ModelConfig) => Measurement = (measurement) => measurement;
  restoreError: TrituneError | null = null;
  /** Whether the server is back when somebody looks after it was lost. */
  comesBack = true;
  /** The config that was put there last; somebody else may have changed it since. */
  #applied: ModelConfig = originalConfig;

  readonly control: Control = {
    apply: async (candidate, signal) => {
      signal.throwIfAborted();
      this.#applied = toModelConfig(candidate);
      const change = candidate.fingerprint === toCandidate(this.served).fingerprint ? 'none' : 'full';
      if (change === 'none') return { candidate, change, loadMs: 0 };
      await this.clock.sleep(LOAD_MS, signal);
      this.refuse(candidate);
      this.served = toModelConfig(candidate);
      this.loads.push(candidate.fingerprint);
      return { candidate, change, loadMs: LOAD_MS };
    },
    changed: async () => {
      const isAsApplied = toCandidate(this.served).fingerprint === toCandidate(this.#applied).fingerprint;
      return isAsApplied ? null : 'another config';
    },
    isReachable: async () => this.comesBack,
    restore: async (): Promise<Restored> => {
      this.restores++;
      if (this.restoreError) throw this.restoreError;
      this.served = originalConfig;
      return { how: 'config', verified: true, detail: 'put back' };
    },
  };

  readonly profile: Profile = {
    measure: async ({ candidate }, level, { signal, onProgress }) => {
      if (candidate.fingerprint !== toCandidate(this.served).fingerprint)
        throw new Error('measured what is not served');
      onProgress({ phase: 'warm-up' });
      await this.clock.sleep(MEASURE_MS, signal);
      const { served: config } = this;
      const capacity = 100 * instancesIn(config) * (1 + 0.1 * (config.max_batch_size ?? 0));
      const throughput = Math.min(capacity, level.value * 100);
      return this.bend(measured(level.value, throughput, (level.value * 1000) / throughput), config);
    },
  };
}

export interface Played {
  readonly state: StudyState | null;
  readonly error: unknown;
  readonly records: readonly StudyRecord[];
  readonly events: readonly TunerEvent[];
}

/** What makes up an adapter. */
interface AdapterParts {
  readonly control: Control;
  readonly profile: Profile;
  readonly build: SpaceView['build'];
}

export interface Play {
  readonly world?: World;
  readonly plan?: Partial<TunePlan>;
  /** Those of the adapter take the place of the world's own. */
  readonly parts?: Partial<Omit<TuneParts, 'adapter'> & AdapterParts>;
  readonly goal?: Goal;
  /** Aborts after this many events. */
  readonly abortAt?: number;
}

export const adapterOf = ({ control, profile, build }: AdapterParts): TunedAdapter => ({
  build,
  apply: (candidate, signal) => control.apply(candidate, signal),
  changed: (signal) => control.changed(signal),
  isReachable: (signal) => control.isReachable(signal),
  restore: () => control.restore(),
  measure: (applied, level, options) => profile.measure(applied, level, options),
});

/** Runs a tuner in a world and gives all that came of it; `records` holds the earlier ones too. */
export async function play({
  world = new World(),
  plan = {},
  parts: { control = world.control, profile = world.profile, build = space.build, ...parts } = {},
  goal = goalOf(40),
  abortAt,
}: Play): Promise<Played> {
  const records: StudyRecord[] = [...(plan.earlier ?? [])];
  const events: TunerEvent[] = [];
  const controller = new AbortController();
  const { type: _, at: __, ...study } = studyStarted(goal);
  const full: TunePlan = {
    study,
    maxTrials: 100,
    timeBudgetMs: Number.POSITIVE_INFINITY,
    finalRounds: 3,
    allowForeignTraffic: false,
    earlier: [],
    ...plan,
  };
  const journal = { append: async (record: StudyRecord) => void records.push(JSON.parse(JSON.stringify(record))) };
  const all: TuneParts = {
    adapter: adapterOf({ control, profile, build }),
    sampler: everyCandidate(space),
    journal,
    clock: world.clock,
    ...parts,
  };
  const emit = (event: TunerEvent): void => {
    if (events.push(event) === abortAt) controller.abort(new Error('stop'));
  };
  try {
    return { state: await tune(full, all, emit, controller.signal), error: null, records, events };
  } catch (error) {
    return { state: null, error, records, events };
  }
}

export const refuseAbove = (instances: number) => (candidate: Candidate) => {
  if (instancesIn(toModelConfig(candidate)) > instances)
    throw new CandidateRefusedError('out-of-memory', 'CUDA out of memory\n');
};

export const lost = (): never => {
  throw new TrituneError('SERVER_UNREACHABLE', 'nothing answers', 'start it');
};
