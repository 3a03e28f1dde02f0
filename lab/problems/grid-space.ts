import type { Random } from '../../src/base/random.ts';
import { toCandidate } from '../../src/space/model-configs.ts';
import type { Assignment, Candidate } from '../../src/space/types.ts';
import type { SpaceView } from '../../src/study/search/samplers/space-view.ts';
import type { ModelConfig } from '../../src/triton/config/model-config.ts';

/** The axes of a space of all combinations; a delay of null means no dynamic batching. */
export interface GridAxes {
  readonly instances: readonly number[];
  readonly maxBatchSize: readonly number[];
  readonly queueDelayUs: readonly (number | null)[];
  /** Config fields for each combination of categorical settings, the original one first. */
  readonly settings: readonly ModelConfig[];
}

/** One combination; `settingsIndex` is an index of the axes' settings. */
export interface GridPoint {
  readonly instances: number;
  readonly maxBatchSize: number;
  readonly queueDelayUs: number | null;
  readonly settingsIndex: number;
}

/** A search space over grid axes. */
export interface GridSpace extends SpaceView {
  candidate(point: GridPoint): Candidate;
}

/** Creates a space over these axes, in which instances vary fastest. */
export function candidateOver(axes: GridAxes): GridSpace {
  const indexes = axes.settings.map((_, index) => index);
  const known = new Map<string, Candidate>();
  const candidate = (assignment: Assignment): Candidate => {
    const key = JSON.stringify(assignment);
    const made = known.get(key) ?? candidateAt(assignment as unknown as GridPoint, assignment, axes.settings);
    known.set(key, made);
    return made;
  };
  const one = <T>(values: readonly T[], share: number): T => values[Math.floor(share * values.length)] as T;
  const sample = (random: Random) => ({
    instances: one(axes.instances, random.float()),
    maxBatchSize: one(axes.maxBatchSize, random.float()),
    queueDelayUs: one(axes.queueDelayUs, random.float()),
    settingsIndex: one(indexes, random.float()),
  });
  return {
    *assignments() {
      for (const settingsIndex of indexes)
        for (const queueDelayUs of axes.queueDelayUs)
          for (const maxBatchSize of axes.maxBatchSize)
            for (const instances of axes.instances) yield { instances, maxBatchSize, queueDelayUs, settingsIndex };
    },
    sample,
    complete: (assignment, random) => ({ ...sample(random), ...assignment }),
    build: (assignment) =>
      Number(assignment.settingsIndex) < axes.settings.length
        ? { legal: true, candidate: candidate(assignment) }
        : { legal: false, reason: 'it has no such settings' },
    candidate: ({ instances, maxBatchSize, queueDelayUs, settingsIndex }) =>
      candidate({ instances, maxBatchSize, queueDelayUs, settingsIndex }),
  };
}

function candidateAt(point: GridPoint, assignment: Assignment, settings: readonly ModelConfig[]): Candidate {
  const config: ModelConfig = {
    name: 'model',
    max_batch_size: point.maxBatchSize,
    instance_group: [{ kind: 'KIND_GPU', count: point.instances }],
    ...(point.queueDelayUs !== null &&
      point.maxBatchSize > 1 && { dynamic_batching: { max_queue_delay_microseconds: point.queueDelayUs } }),
    ...settings[point.settingsIndex],
  };
  return toCandidate(config, assignment);
}
