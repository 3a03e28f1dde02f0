import { describe, expect, it } from 'vitest';
import { createBatcher } from '#queueing/batcher.ts';
import type { BatcherPolicy } from '#queueing/batcher-policy.ts';
import { type Arrival, drive } from './drive.ts';

const ms = (value: number): number => value * 1e6;
const policy = (changes: Partial<BatcherPolicy> = {}): BatcherPolicy => ({
  maxBatchSize: 8,
  preferredBatchSizes: [],
  maxQueueDelayNs: 0,
  instances: 1,
  dynamicBatching: true,
  ...changes,
});
const at = (...timesMs: number[]): Arrival[] => timesMs.map((time) => ({ atNs: ms(time), samples: 1 }));
const sizesOf = (...args: Parameters<typeof drive>): number[] => drive(...args).map((batch) => batch.samples);
const hundredMs = (): number => ms(100);

describe('dynamic batching, as seen on a real server', () => {
  it('takes the largest batches out of a backlog', () => {
    const arrivals = at(0, ...Array.from({ length: 11 }, (_, index) => 10 + index));
    expect(sizesOf(policy(), arrivals, hundredMs)).toEqual([1, 8, 3]);
  });

  it('holds three requests for the delay and serves them as one', () => {
    const batches = drive(policy({ maxQueueDelayNs: ms(50) }), at(0, 1, 2), hundredMs);
    expect(batches).toEqual([{ startNs: ms(50), endNs: ms(150), instance: 0, requests: [0, 1, 2], samples: 3 }]);
  });

  it('keeps to a preferred size under a backlog, far below the maximum', () => {
    const arrivals = at(0, ...Array.from({ length: 12 }, () => 5));
    expect(sizesOf(policy({ maxBatchSize: 16, preferredBatchSizes: [4] }), arrivals, hundredMs)).toEqual([1, 4, 4, 4]);
  });

  it('merges overdue batches past the preferred size when there is a delay', () => {
    const arrivals = at(0, 0, 0, 0, ...Array.from({ length: 8 }, (_, index) => 10 + index));
    const sizes = sizesOf(
      policy({ maxBatchSize: 16, preferredBatchSizes: [4], maxQueueDelayNs: ms(20) }),
      arrivals,
      hundredMs,
    );
    expect(sizes).toEqual([4, 8]);
  });

  it('starts at once when a preferred size is there', () => {
    const batches = drive(policy({ preferredBatchSizes: [2], maxQueueDelayNs: ms(50) }), at(0, 7), hundredMs);
    expect(batches.map((batch) => batch.startNs)).toEqual([ms(7)]);
  });
});

describe('requests of several samples', () => {
  it('fills a batch by samples and never beyond the maximum', () => {
    const arrivals = [1, 3, 3, 3, 2].map((samples, index) => ({ atNs: index, samples }));
    const batches = drive(policy(), arrivals, hundredMs);
    expect(batches.map((batch) => batch.requests)).toEqual([[0], [1, 2], [3, 4]]);
    expect(batches.map((batch) => batch.samples)).toEqual([1, 6, 5]);
  });

  it('refuses a request that no batch can hold', () => {
    expect(() => createBatcher(policy()).arrive(0, 0, 9)).toThrow(/9 samples.*1 to 8/);
    expect(() => createBatcher(policy({ maxBatchSize: 0 })).arrive(0, 0, 2)).toThrow(/1 to 1/);
  });
});

describe('the default scheduler', () => {
  it('serves every request alone, in order', () => {
    const batches = drive(policy({ dynamicBatching: false, instances: 2 }), at(0, 1, 2, 3, 4), hundredMs);
    expect(batches.map((batch) => batch.requests)).toEqual([[0], [1], [2], [3], [4]]);
    expect(batches.map((batch) => batch.startNs)).toEqual([0, 1, 100, 101, 200].map(ms));
    expect(batches.map((batch) => batch.instance)).toEqual([0, 1, 0, 1, 0]);
  });
});

describe('instances', () => {
  it('gives waiting batches to instances added in place', () => {
    const batches = drive(policy({ maxBatchSize: 1 }), at(0, 0, 0), hundredMs, [
      { atNs: ms(30), run: (batcher, nowNs) => batcher.setInstances(nowNs, 3) },
    ]);
    expect(batches.map((batch) => batch.startNs)).toEqual([0, 30, 30].map(ms));
    expect(batches.map((batch) => batch.instance)).toEqual([0, 1, 2]);
  });

  it('lets a busy instance end its execution before it goes', () => {
    const batches = drive(policy({ maxBatchSize: 1, instances: 2 }), at(0, 0, 0, 0), hundredMs, [
      { atNs: ms(30), run: (batcher, nowNs) => batcher.setInstances(nowNs, 1) },
    ]);
    expect(batches.map((batch) => batch.startNs)).toEqual([0, 0, 100, 200].map(ms));
    expect(batches.map((batch) => batch.instance)).toEqual([0, 1, 0, 0]);
  });

  it('removes idle instances at once and takes them back', () => {
    const batches = drive(policy({ maxBatchSize: 1, instances: 3 }), at(10, 10, 50, 50), hundredMs, [
      { atNs: 0, run: (batcher, nowNs) => batcher.setInstances(nowNs, 1) },
      { atNs: ms(20), run: (batcher, nowNs) => batcher.setInstances(nowNs, 2) },
    ]);
    expect(batches.map((batch) => batch.startNs)).toEqual([10, 20, 110, 120].map(ms));
  });

  it('tells how many requests wait and how many instances are busy', () => {
    const batcher = createBatcher(policy({ maxBatchSize: 2 }));
    for (let request = 0; request < 10; request++) batcher.arrive(0, request, 1);
    expect(batcher.waitingRequests).toBe(9);
    expect(batcher.busyInstances).toBe(1);
    while (batcher.takeStarted());
    batcher.complete(5, 0);
    expect(batcher.waitingRequests).toBe(7);
  });

  it('refuses the end of an execution that is not running', () => {
    expect(() => createBatcher(policy()).complete(0, 0)).toThrow(/not executing/);
  });
});

describe('waking', () => {
  it('ignores a call before its time and acts on one after it', () => {
    const batcher = createBatcher(policy({ maxQueueDelayNs: 100 }));
    expect(batcher.nextWakeNs).toBe(Number.POSITIVE_INFINITY);
    batcher.arrive(1000, 7, 1);
    expect(batcher.nextWakeNs).toBe(1100);
    batcher.wake(1099);
    expect(batcher.takeStarted()).toBeUndefined();
    batcher.wake(1234);
    const started = batcher.takeStarted();
    expect([started?.requestId(0), started?.enqueuedNs(0), started?.samples(0)]).toEqual([7, 1000, 1]);
    expect(batcher.nextWakeNs).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('a policy', () => {
  it.each([
    [{ maxBatchSize: -1 }, /max_batch_size is -1/],
    [{ preferredBatchSizes: [4, 9] }, /holds 9/],
    [{ preferredBatchSizes: [0] }, /holds 0/],
    [{ maxQueueDelayNs: Number.NaN }, /delay is NaN/],
    [{ instances: 0 }, /0 instances/],
  ])('is refused: %o', (changes, reason) => {
    expect(() => createBatcher(policy(changes))).toThrow(reason);
  });
});
