import { describe, expect, it } from 'vitest';
import { loadProfile, parseProfile } from '#emulator/profile/profiles.ts';
import type { EmulatorProfile } from '#emulator/profile/schema.ts';
import { spaceFromJson } from '#space/source/load.ts';
import { findChosen } from '#study/goal/ranking.ts';
import { searchVirtually } from '../support/virtual-study.ts';

/**
 * An execution takes as long as one of the next multiple of 8, and the operator's delay is longer
 * than the budget.
 */
const inEights = parseProfile(
  `
name: eights
description: d
source: made up
suggested_latency_budget_ms: 15
device: { kind: gpu, name: g, memory_mib: 16000, power_w: { idle: 20, busy: 100 } }
models:
  - config:
      name: eights
      backend: tensorrt
      max_batch_size: 32
      input: [{ name: X, data_type: TYPE_FP32, dims: [8] }]
      output: [{ name: Y, data_type: TYPE_FP32, dims: [8] }]
      instance_group: [{ count: 1, kind: KIND_GPU, gpus: [0] }]
      dynamic_batching: { max_queue_delay_microseconds: 20000 }
    law:
      execution_ms: [[8, 4], [32, 14.5]]
      padded_sizes: [8, 16, 24, 32]
      interference: { per_instance: 0.2 }
      cv: 0.02
    memory: { model_mib: 10, instance_mib: 10, sample_mib: 1 }
    load: { full_s: 1, add_s: 0.1, remove_s: 0.1 }
`,
  'eights.yaml',
);

async function bestWith(
  preferred: string[],
  profile: EmulatorProfile,
  batch: number,
  delayUs: number,
  budgetMs: number,
) {
  const space = spaceFromJson({
    name: 'fixed',
    parameters: {
      instances: [1, 2, 3],
      max_batch_size: [batch],
      dynamic_batching: ['on'],
      queue_delay_us: [delayUs],
      preferred_batch_size: preferred,
    },
  });
  const { best } = (await searchVirtually(profile, space, budgetMs)).state;
  return { assignment: best?.candidate.assignment, throughput: (best && findChosen(best))?.throughput.value ?? 0 };
}

describe('preferred sizes in multiples of 8, where the largest batch and the delay are given', {
  timeout: 60_000,
}, () => {
  it.each([
    [
      'a detector whose clients sit out a delay of 40 ms for batches of 16',
      loadProfile('yolov7-rtx4090'),
      16,
      40_000,
      25,
    ],
    ['a model that is executed in steps of 8', inEights, 32, 20_000, 15],
  ] as const)('are found for %s', async (_, profile, batch, delayUs, budgetMs) => {
    const full = await bestWith(['max'], profile, batch, delayUs, budgetMs);
    const eights = await bestWith(['max', 'multiples_of_8'], profile, batch, delayUs, budgetMs);
    expect(eights.assignment?.preferred_batch_size).toBe('multiples_of_8');
    expect(eights.throughput).toBeGreaterThan(1.5 * full.throughput);
  });
});
