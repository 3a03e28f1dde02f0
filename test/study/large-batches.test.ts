import { expect, it } from 'vitest';
import { parseProfile } from '#emulator/profile/profiles.ts';
import { buildCandidate } from '#space/candidate.ts';
import { toModelConfig, toOriginal } from '#space/model-configs.ts';
import { mostPlaces } from '#space/most-places.ts';
import { loadSpace } from '#space/source/load.ts';
import type { SearchSpace } from '#space/types.ts';
import { findChosen } from '#study/goal/ranking.ts';
import { isNightly } from '../support/fuzz.ts';
import { VirtualServer } from '../support/virtual-server.ts';
import { searchVirtually } from '../support/virtual-study.ts';

/**
 * A small network behind a long launch: an execution of 1,024 samples takes half as long again as
 * one of a single sample.
 */
const profile = parseProfile(
  `
name: wide
description: d
source: made up
suggested_latency_budget_ms: 120
device: { kind: gpu, name: g, memory_mib: 80000, power_w: { idle: 20, busy: 100 } }
models:
  - config:
      name: wide
      backend: python
      max_batch_size: 8
      input: [{ name: X, data_type: TYPE_FP32, dims: [8] }]
      output: [{ name: Y, data_type: TYPE_FP32, dims: [8] }]
      instance_group: [{ count: 1, kind: KIND_GPU, gpus: [0] }]
    law:
      execution_ms: [[1, 20], [1024, 30]]
      interference: { per_instance: 0.8 }
      cv: 0.03
    max_instances: 2
    memory: { model_mib: 10, instance_mib: 10, sample_mib: 1 }
    load: { full_s: 1, add_s: 0.1, remove_s: 0.1 }
`,
  'wide.yaml',
);
const BUDGET_MS = 120;
const original = new VirtualServer(profile).original;

it.runIf(isNightly)(
  'finds batches of hundreds with more than a thousand requests in flight',
  { timeout: 180_000 },
  async () => {
    const space = loadSpace('base', { limits: { latency_budget_us: BUDGET_MS * 1e3 } });
    const high = Math.min(4096, 2 * mostPlaces(space, toOriginal(original)));
    expect(high).toBe(4096);
    const { best, trials } = (await searchVirtually(profile, space, BUDGET_MS, { high })).state;
    const found = best && findChosen(best);
    expect(found?.throughput.value).toBeGreaterThan(0.95 * truth(space));
    expect(best?.candidate.shape.policy.maxBatchSize).toBeGreaterThanOrEqual(512);
    expect(found?.level.value).toBeGreaterThan(1000);
    expect(trials.length).toBeLessThan(16);
  },
);

/**
 * The highest throughput within the budget of two instances with batches of 512 and 1,024, on a
 * grid of levels.
 */
function truth(space: SearchSpace): number {
  const server = new VirtualServer(profile);
  const rates = [512, 1024].flatMap((batch) => {
    const batching = { max_batch_size: batch, dynamic_batching: true, queue_delay_us: 0 };
    const outcome = buildCandidate(space, toOriginal(original), { ...batching, instances: 2 });
    if (!outcome.legal) throw new Error(outcome.reason);
    return [1024, 2048, 3072].flatMap((level) => {
      const { throughput, latencyMs } = server.measure(toModelConfig(outcome.candidate), level);
      return latencyMs.p99 <= BUDGET_MS ? [throughput.value] : [];
    });
  });
  return Math.max(...rates);
}
