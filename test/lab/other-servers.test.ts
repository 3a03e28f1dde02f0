import { describe, expect, it } from 'vitest';
import { seededRandom } from '#base/random.ts';
import { type Discipline, serveOtherwise } from '../../lab/problems/other-discipline.ts';
import { otherServer } from '../../lab/problems/other-servers.ts';

const plain: Discipline = {
  order: 'oldest first',
  others: { perSecond: 0, isUrgent: false },
  fixedMs: 4,
  perSampleMs: 1,
  cores: Number.POSITIVE_INFINITY,
  spread: 0.01,
  memory: 0,
  roundTripMs: 0.5,
};
const served = (
  discipline: Partial<Discipline>,
  config: Partial<Parameters<typeof serveOtherwise>[1]>,
  clients: number,
) =>
  serveOtherwise(
    { ...plain, ...discipline },
    { instances: 1, maxBatchSize: 1, delayMs: null, ...config },
    clients,
    seededRandom(3),
  );

describe('a server that queues otherwise', () => {
  it.each([
    ['plain', {}, {}, 8],
    ['at random', { order: 'at random' }, { instances: 2 }, 16],
    ['with shared cores', { cores: 1.5 }, { instances: 4, maxBatchSize: 8, delayMs: 2 }, 32],
    ['with a delay that is never over', {}, { maxBatchSize: 8, delayMs: 5 }, 3],
  ] as const)('has as many requests in flight as clients: %s', (_, discipline, config, clients) => {
    const { throughput, latencyMs } = served(discipline, config, clients);
    expect((throughput * latencyMs.avg) / 1e3 / clients).toBeCloseTo(1, 1);
  });

  it('serves one after another as fast as it executes, and whole batches at once where it waits for them', () => {
    expect(served({}, {}, 8).throughput).toBeCloseTo(200, -1);
    const batches = served({}, { maxBatchSize: 4, delayMs: 50 }, 8);
    expect(batches.throughput).toBeCloseTo(500, -2);
    expect(batches.batches.map(({ size }) => size)).toEqual([4]);
  });

  it('shares its cores among busy instances', () => {
    const two = served({ cores: 1 }, { instances: 2 }, 8);
    expect(two.throughput).toBeCloseTo(200, -1);
    expect(two.batches[0]?.meanExecutionUs).toBeGreaterThan(9000);
  });

  it('lets urgent others go before', () => {
    const alone = served({}, {}, 4).latencyMs.p99;
    const beside = served({ others: { perSecond: 80, isUrgent: false } }, {}, 4).latencyMs.p99;
    const behind = served({ others: { perSecond: 80, isUrgent: true } }, {}, 4).latencyMs.p99;
    expect(beside).toBeGreaterThan(1.2 * alone);
    expect(behind).toBeGreaterThan(1.1 * beside);
  });
});

it('is the same for the same number', () => {
  const { baseline } = otherServer(1);
  expect(otherServer(1).truth(baseline, 4)).toEqual(otherServer(1).truth(baseline, 4));
  expect(otherServer(2).truth(baseline, 4)).not.toEqual(otherServer(1).truth(baseline, 4));
});
