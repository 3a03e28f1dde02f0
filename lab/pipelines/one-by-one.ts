import type { Narrowing } from '../../src/space/narrowing.ts';
import type { Topology } from '../../src/space/topology.ts';
import type { Candidate, ParameterValue } from '../../src/space/types.ts';
import { bestTrial } from '../../src/study/goal/ranking.ts';
import { queueingSampler } from '../../src/study/search/queueing/queueing.ts';
import type { QueueingOptions } from '../../src/study/search/queueing/search-state.ts';
import type { SpaceView } from '../../src/study/search/samplers/space-view.ts';
import type { Goal, History, Sampler, Trial } from '../../src/study/types.ts';

/** Options for tuning one model after another. */
export interface OneByOneOptions extends QueueingOptions {
  readonly topology: Topology;
  readonly narrowed: (narrowing: Narrowing) => SpaceView;
  readonly baseline: Candidate;
  /** Measurements over all models. */
  readonly measurements: number;
}

/**
 * Tunes one model after another, like people and tools that know no pipelines. Each model gets part
 * of the measurements, while the others stay as in the best trial so far. The search itself is the
 * default sampler's, with all its knowledge of the pipeline. For comparison only.
 */
export function oneByOneSampler(options: OneByOneOptions): Sampler {
  const { topology, goal, measurements, baseline } = options;
  const { stages } = topology;
  const each = measurements / stages.length;
  const samplers = new Map<string, Sampler>();
  const createSampler = (phase: number, trials: readonly Trial[]): Sampler => {
    const base = findBase(trials, phase * each, goal) ?? baseline;
    const key = `${phase} ${base.fingerprint}`;
    const narrowing = pinned(
      base,
      stages.filter((_, place) => place !== phase),
    );
    const sampler = samplers.get(key) ?? queueingSampler(options.narrowed(narrowing), options);
    samplers.set(key, sampler);
    return sampler;
  };
  const computePhase = ({ trials }: History): number =>
    Math.min(stages.length - 1, Math.floor(countMeasurements(trials) / each));
  return {
    ask(history, remaining) {
      for (let phase = computePhase(history); phase < stages.length - 1; phase++) {
        const answer = createSampler(phase, history.trials).ask(history, remaining);
        if (answer.kind === 'trial') return answer;
      }
      return createSampler(stages.length - 1, history.trials).ask(history, remaining);
    },
    level: (history, running) => createSampler(computePhase(history), history.trials).level?.(history, running) ?? null,
  };
}

const countMeasurements = (trials: readonly Trial[]): number =>
  trials.reduce((sum, { measurements }) => sum + measurements.length, 0);

/** Returns the best candidate among the trials that ended within this number of measurements. */
function findBase(trials: readonly Trial[], measurements: number, goal: Goal): Candidate | null {
  let count = 0;
  const before = trials.filter((trial) => {
    count += trial.measurements.length;
    return count <= measurements;
  });
  return bestTrial(before, goal)?.candidate ?? null;
}

/** Returns the narrowing that keeps models as they are in a candidate. */
function pinned({ shape }: Candidate, models: readonly string[]): Narrowing {
  const values = models.flatMap((model): [string, { pinned: ParameterValue }][] => {
    const policy = shape.members?.[model]?.policy;
    if (!policy) return [];
    return [
      [`${model}/instances`, { pinned: policy.instances }],
      [`${model}/max_batch_size`, { pinned: policy.maxBatchSize }],
      [`${model}/queue_delay_us`, { pinned: policy.maxQueueDelayNs / 1e3 }],
    ];
  });
  return Object.fromEntries(values);
}
