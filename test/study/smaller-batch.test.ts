import { describe, expect, it } from 'vitest';
import { loadProfile } from '#emulator/profile/profiles.ts';
import { toModelConfig } from '#space/model-configs.ts';
import { smallerBatch } from '#study/analysis/smaller-batch.ts';
import { foldStudy } from '#study/records/fold.ts';
import { VirtualServer } from '../support/virtual-server.ts';
import { tuneVirtually } from '../support/virtual-study.ts';

/** A study that left out smaller batches for its clients. */
async function studied(profile: string, sizes: readonly number[], leftOut: readonly number[], budgetMs: number) {
  const parameters = { instances: [1, 2, 4], dynamic_batching: ['on'], max_batch_size: sizes };
  const { records } = await tuneVirtually(loadProfile(profile), parameters, budgetMs);
  const clients = [{ model: 'm', largest: sizes[0] ?? 0, basis: 'config' as const, original: sizes[0] ?? 0, leftOut }];
  return foldStudy(records.map((record) => (record.type === 'study-started' ? { ...record, clients } : record)));
}

describe('a smaller batch than clients may send', () => {
  it('is told where the performance model promises 10 % more of it, and the server keeps the promise', async () => {
    const state = await studied('cliff', [64, 128], [1, 2, 4, 8, 16, 32], 40);
    const found = smallerBatch(state);
    expect(found?.ratio).toBeGreaterThan(1.1);
    const { best } = state;
    if (!found || !best || best.chosen === null) throw new Error('nothing was found');
    const server = new VirtualServer(loadProfile('cliff'));
    const config = toModelConfig(best.candidate);
    const most = (max_batch_size: number | undefined): number =>
      Math.max(
        ...[4, 8, 16, 32, 64, 128].map((level) => {
          const { throughput, latencyMs } = server.measure({ ...config, max_batch_size: max_batch_size ?? 0 }, level);
          return latencyMs.p99 <= 40 ? throughput.value : 0;
        }),
      );
    expect(most(found.maxBatchSize) / most(config.max_batch_size)).toBeGreaterThan(1.05);
  });

  it('is not told where it gives nothing, or nothing was left out', async () => {
    expect(smallerBatch(await studied('demo', [16, 32], [1, 2, 4, 8], 200))).toBeNull();
    expect(smallerBatch(await studied('demo', [16, 32], [], 20))).toBeNull();
  });
});
