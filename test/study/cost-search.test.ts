import { describe, expect, it } from 'vitest';
import { parseProfile } from '../../src/emulator/profile/profiles.ts';
import type { Profile } from '../../src/emulator/profile/schema.ts';
import { modelConfigOf, originalOf } from '../../src/space/model-configs.ts';
import { spaceFromJson } from '../../src/space/source/load.ts';
import { representative } from '../../src/study/final/final.ts';
import type { CostTerms } from '../../src/study/goal/cost-terms.ts';
import { metricsOf } from '../../src/study/goal/metrics/registry.ts';
import { viewSpace } from '../../src/study/search/samplers/space-view.ts';
import type { Goal, LevelRange } from '../../src/study/types.ts';
import { VirtualServer } from '../support/virtual-server.ts';
import { searchVirtually } from '../support/virtual-study.ts';

/** A made-up server of four GPUs; how its time depends on batches and instances differs. */
const server = (law: string): Profile =>
  parseProfile(
    `
name: made-up
description: d
source: made up
device: { kind: gpu, name: g, count: 4, memory_mib: 24000, power_w: { idle: 20, busy: 100 } }
models:
  - config:
      name: m
      backend: onnxruntime
      max_batch_size: 16
      input: [{ name: X, data_type: TYPE_FP32, dims: [8] }]
      output: [{ name: Y, data_type: TYPE_FP32, dims: [8] }]
      instance_group: [{ count: 1, kind: KIND_GPU, gpus: [0, 1, 2, 3] }]
      dynamic_batching: {}
    law: { ${law}, cv: 0.03 }
    memory: { model_mib: 100, instance_mib: 1000, sample_mib: 10 }
    load: { full_s: 1, add_s: 0.2, remove_s: 0.1 }
`,
    'made-up.yaml',
  );

const servers = {
  'one whose batches pay': server(
    'execution_ms: [[1, 3.2], [4, 7.6], [16, 27.9]], interference: { per_instance: 0.5 }',
  ),
  'one whose instances pay': server('execution_ms: [[1, 4], [16, 60]], interference: { per_instance: 0.1 }'),
  'one with a large fixed time': server('execution_ms: [[1, 9], [16, 12]], interference: { per_instance: 0.8 }'),
};

const space = spaceFromJson({
  name: 'gpus',
  parameters: {
    gpu_count: [1, 2, 4],
    instances: [1, 2, 3],
    max_batch_size: [1, 4, 8, 16],
    dynamic_batching: ['on'],
    queue_delay_us: [0, 1000],
  },
});

const BUDGET_MS = 50;
const terms = (forRate: number, more: Partial<CostTerms> = {}): CostTerms => ({
  ...{ currency: 'USD', name: 'L4', per: 'gpu', perHour: 0.8, headroom: 0.1, chance: 0.95 },
  ...{ forRate, ...more },
});
const goalFor = (cost: CostTerms): Partial<Goal> => ({ cost, objectives: [{ metric: 'cost-per-hour', weight: 1 }] });

/** Returns the least cost of an hour over every candidate at many levels. */
function exhaustive(profile: Profile, cost: CostTerms, levels: LevelRange): number {
  const own = new VirtualServer(profile, 77);
  const view = viewSpace(space, originalOf(own.original));
  const goal: Goal = { budget: { percentile: 99, latencyMs: BUDGET_MS }, constraints: [], objectives: [], cost };
  const grid: number[] = [];
  for (let at = levels.low; at <= levels.high; at *= 1.1)
    grid.push(levels.mode === 'concurrency' ? Math.round(at) : at);
  const costs = [...view.assignments()].map((assignment) => {
    const outcome = view.build(assignment);
    if (!outcome.legal) return Number.POSITIVE_INFINITY;
    const { candidate } = outcome;
    let best = Number.POSITIVE_INFINITY;
    for (const level of new Set(grid)) {
      const config = modelConfigOf(candidate);
      const seen = levels.mode === 'concurrency' ? own.measure(config, level) : own.measureAtRate(config, level);
      if (seen.budgetLatencyMs.value > BUDGET_MS) continue;
      best = Math.min(best, metricsOf(goal).read('cost-per-hour', seen, candidate) ?? Number.POSITIVE_INFINITY);
    }
    return best;
  });
  return Math.min(...costs);
}

/** Returns what the search found to cost by the deciding measurement of its best. */
async function foundBy(profile: Profile, cost: CostTerms, levels: LevelRange): Promise<number> {
  const { state } = await searchVirtually(profile, space, BUDGET_MS, { levels, more: goalFor(cost) });
  const { best, goal } = state;
  const stands = best && representative(state, best);
  expect(stands?.feasible).toBe(true);
  return (best && stands && metricsOf(goal).read('cost-per-hour', stands.measurement, best.candidate)) ?? Number.NaN;
}

const IN_FLIGHT: LevelRange = { mode: 'concurrency', low: 1, high: 256 };
const RATES: LevelRange = { mode: 'request-rate', low: 50, high: 6000 };
/** Sums of prices are not exact. */
const ROUNDING = 1.0001;

describe('the least cost for a rate, against every candidate at every level', { timeout: 300_000 }, () => {
  it.each(Object.entries(servers))('is found for %s', async (_, profile) => {
    const cost = terms(2000);
    expect(await foundBy(profile, cost, IN_FLIGHT)).toBeLessThanOrEqual(
      ROUNDING * exhaustive(profile, cost, IN_FLIGHT),
    );
  });

  it.each(Object.entries(servers))('is found to one GPU among many for %s', async (_, profile) => {
    const cost = terms(7000);
    const least = exhaustive(profile, cost, IN_FLIGHT);
    expect(await foundBy(profile, cost, IN_FLIGHT)).toBeLessThanOrEqual(ROUNDING * (least + cost.perHour));
  });

  it('is found where a whole server is paid for: the candidate that serves most on it', async () => {
    const profile = servers['one whose batches pay'];
    const cost = terms(7000, { per: 'server', perHour: 3 });
    expect(await foundBy(profile, cost, IN_FLIGHT)).toBeLessThanOrEqual(
      ROUNDING * exhaustive(profile, cost, IN_FLIGHT),
    );
  });

  it('is found at request rates too', async () => {
    const profile = servers['one whose instances pay'];
    const cost = terms(2000);
    expect(await foundBy(profile, cost, RATES)).toBeLessThanOrEqual(ROUNDING * exhaustive(profile, cost, RATES));
  });
});
