import { expect, it } from 'vitest';
import { stringify } from 'yaml';
import { fitTwin } from '#adapter/twin/twin.ts';
import { loadProfile, parseProfile } from '#emulator/profile/profiles.ts';
import { toModelConfig } from '#space/model-configs.ts';
import type { Trial } from '#study/types.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { isNightly } from '../support/fuzz.ts';
import { VirtualServer } from '../support/virtual-server.ts';
import { tuneVirtually } from '../support/virtual-study.ts';

const LEVELS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];

/** The most that a config serves within the budget. */
function capacity(server: VirtualServer, config: ModelConfig, budgetMs: number): number {
  const within = LEVELS.map((level) => server.measure(config, level)).filter((one) => one.latencyMs.p99 <= budgetMs);
  return Math.max(0, ...within.map(({ throughput }) => throughput.value));
}

const batching = { instances: [1, 2, 3, 4], dynamic_batching: ['on'], queue_delay_us: [0, 1000] };
const sizes = { ...batching, max_batch_size: [1, 8, 16, 32] };
const precisions = {
  instances: [1, 2],
  max_batch_size: [4, 16],
  dynamic_batching: ['on'],
  tensorrt_precision: ['none', 'FP32', 'FP16'],
};

const twins = [
  ['sleeper', sizes, 10],
  ['demo', { ...batching, max_batch_size: [1, 8, 16] }, 50],
  ['cliff', sizes, 40],
  ['oom', sizes, 30],
  ['slow-precision', precisions, 60],
  ['tft-t4-pytorch', sizes, 100],
] as const;

it.each(twins.slice(0, isNightly ? undefined : 2))(
  'tuning the twin of %s finds as good a config as tuning it',
  async (name, parameters, budgetMs) => {
    const profile = loadProfile(name);
    const real = await tuneVirtually(profile, parameters, budgetMs);
    const twin = parseProfile(stringify(fitTwin(real.records)), 'the twin');
    const dry = await tuneVirtually(twin, parameters, budgetMs);
    const truth = new VirtualServer(profile);
    const best = capacity(truth, toModelConfig((real.state.best as Trial).candidate), budgetMs);
    const found = capacity(truth, toModelConfig((dry.state.best as Trial).candidate), budgetMs);
    expect(best).toBeGreaterThan(0);
    expect(found / best).toBeGreaterThan(0.95);
    // It promises what the server then does, too, and refuses what it refused.
    const promised = capacity(new VirtualServer(twin), toModelConfig((dry.state.best as Trial).candidate), budgetMs);
    expect(Math.abs(promised / found - 1)).toBeLessThan(0.1);
    expect(dry.state.counts.failed).toBe(real.state.counts.failed);
  },
);
