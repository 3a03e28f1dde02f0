import { createHash } from 'node:crypto';
import { canonicalJson, type Json } from '../../base/json.ts';
import type { Random } from '../../base/random.ts';
import type { Assignment, Candidate } from '../../space/types.ts';
import type { SpaceView } from '../../study/samplers/space-view.ts';
import type { ModelConfig } from '../../triton/model-config.ts';

/** Every combination of these; a delay of null is no dynamic batching. */
export interface GridAxes {
  readonly instances: readonly number[];
  readonly maxBatchSize: readonly number[];
  readonly queueDelayUs: readonly (number | null)[];
  /** What is written into the config for each arm, the original one first. */
  readonly arms: readonly ModelConfig[];
}

/** One combination; `arm` is an index of the axes' arms. */
export interface GridPoint {
  readonly instances: number;
  readonly maxBatchSize: number;
  readonly queueDelayUs: number | null;
  readonly arm: number;
}

export interface GridSpace extends SpaceView {
  candidate(point: GridPoint): Candidate;
}

/** A space over these axes, instances varying fastest. */
export function candidateOver(axes: GridAxes): GridSpace {
  const arms = axes.arms.map((_, index) => index);
  const known = new Map<string, Candidate>();
  const candidate = (assignment: Assignment): Candidate => {
    const key = JSON.stringify(assignment);
    const made = known.get(key) ?? candidateOf(assignment as unknown as GridPoint, assignment, axes.arms);
    known.set(key, made);
    return made;
  };
  const one = <T>(values: readonly T[], share: number): T => values[Math.floor(share * values.length)] as T;
  const sample = (random: Random) => ({
    instances: one(axes.instances, random.float()),
    maxBatchSize: one(axes.maxBatchSize, random.float()),
    queueDelayUs: one(axes.queueDelayUs, random.float()),
    arm: one(arms, random.float()),
  });
  return {
    *assignments() {
      for (const arm of arms)
        for (const queueDelayUs of axes.queueDelayUs)
          for (const maxBatchSize of axes.maxBatchSize)
            for (const instances of axes.instances) yield { instances, maxBatchSize, queueDelayUs, arm };
    },
    sample,
    complete: (wanted, random) => ({ ...sample(random), ...wanted }),
    build: (assignment) => ({ legal: true, candidate: candidate(assignment) }),
    candidate: ({ instances, maxBatchSize, queueDelayUs, arm }) =>
      candidate({ instances, maxBatchSize, queueDelayUs, arm }),
  };
}

function candidateOf(point: GridPoint, assignment: Assignment, arms: readonly ModelConfig[]): Candidate {
  const config: ModelConfig = {
    name: 'model',
    max_batch_size: point.maxBatchSize,
    instance_group: [{ kind: 'KIND_GPU', count: point.instances }],
    ...(point.queueDelayUs !== null &&
      point.maxBatchSize > 1 && { dynamic_batching: { max_queue_delay_microseconds: point.queueDelayUs } }),
    ...arms[point.arm],
  };
  const digest = createHash('sha256')
    .update(canonicalJson(config as Json))
    .digest('hex');
  return { fingerprint: digest.slice(0, 12), assignment, config };
}
