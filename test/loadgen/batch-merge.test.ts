import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Batch, Recorder } from '#loadgen/recorder.ts';
import { BatchMerge } from '#loadgen/workers/batch-merge.ts';
import { type PackedBatch, packBatch } from '#loadgen/workers/messages.ts';
import { LatencyHistogram } from '#stats/histogram.ts';

const STEP_NS = 1000;

interface Completion {
  readonly thread: number;
  readonly atNs: number;
  readonly latencyNs: number;
  readonly ok: boolean;
}

/** Recorders that keep step, as the threads have them, and what is merged of them. */
function merging(threads: number, minRequests: number) {
  const merged: Batch[] = [];
  const dues: (number | null)[] = [];
  const merge = new BatchMerge(threads, { stepNs: STEP_NS, originNs: 0, minRequests }, ({ batch, due }) => {
    merged.push(batch);
    dues.push(due);
  });
  const packed: PackedBatch[][] = Array.from({ length: threads }, () => []);
  const recorders = packed.map((row, thread) => {
    const recorder = new Recorder();
    recorder.start({ lengthNs: STEP_NS, minRequests: 1, inStepWithNs: 0 }, (batch) => {
      row.push(packBatch(batch));
      merge.add(thread, packBatch(batch), 10 * row.length);
    });
    return recorder;
  });
  const complete = ({ thread, atNs, latencyNs, ok }: Completion): void =>
    recorders[thread]?.record(atNs, latencyNs, ok ? { ok } : { ok, kind: 'status', message: 'no' });
  const close = (nowNs: number): void => {
    for (const recorder of recorders) recorder.closeNow(nowNs);
    merge.flush();
  };
  return { merged, dues, packed, complete, close };
}

/**
 * Random completions of each thread, in the order of their times, some threads a hundred times
 * slower than others.
 */
const completions = fc
  .array(
    fc.record({
      meanGapNs: fc.constantFrom(30, 400, 3000),
      gaps: fc.array(fc.tuple(fc.double({ min: 0.01, max: 2, noNaN: true }), fc.boolean(), fc.nat(1e6)), {
        maxLength: 60,
      }),
    }),
    { minLength: 1, maxLength: 5 },
  )
  .map((threads) => {
    const all = threads.flatMap(({ meanGapNs, gaps }, thread) => {
      let atNs = 0;
      return gaps.map(([gap, ok, latencyNs]): Completion => {
        atNs += gap * meanGapNs;
        return { thread, atNs, latencyNs, ok };
      });
    });
    return { threads: threads.length, all: all.sort((a, b) => a.atNs - b.atNs) };
  });

describe('batches of several threads, merged', () => {
  it('hold every request that the threads counted once, with the sum of their exact rates', () => {
    fc.assert(
      fc.property(completions, fc.integer({ min: 1, max: 30 }), ({ threads, all }, minRequests) => {
        const { merged, packed, complete, close } = merging(threads, minRequests);
        for (const completion of all) complete(completion);
        const beforeClose = merged.length;
        close(1e9);
        const counted = packed.flat();
        const sum = (
          batches: readonly { succeeded: number; failed: number }[],
          field: 'succeeded' | 'failed',
        ): number => batches.reduce((total, batch) => total + batch[field], 0);
        for (const field of ['succeeded', 'failed'] as const) expect(sum(merged, field)).toBe(sum(counted, field));
        for (const { failed, failures = [] } of merged) expect(failures[0]?.count ?? 0).toBe(failed);
        const whole = new LatencyHistogram();
        const expected = new LatencyHistogram();
        for (const batch of merged) whole.merge(batch.latencies);
        for (const { latencies } of counted) expected.merge(LatencyHistogram.unpack(latencies));
        expect(whole.pack().cells).toEqual(expected.pack().cells);
        for (const batch of merged.slice(0, beforeClose)) {
          expect(batch.succeeded + batch.failed).toBeGreaterThanOrEqual(minRequests);
        }
        for (const [index, batch] of merged.entries()) {
          expect(batch.endNs).toBeGreaterThanOrEqual(batch.startNs);
          if (index > 0) expect(batch.startNs).toBe(merged[index - 1]?.endNs);
        }
      }),
      { numRuns: 150 },
    );
  });

  it("have the rate that is the sum of the threads' counts over their own exact times", () => {
    const { merged, complete } = merging(2, 1);
    // One completes every 100 ns and the other every 350: their first batches end at 1000 and at
    // 1050.
    for (let atNs = 100; atNs <= 1000; atNs += 100) complete({ thread: 0, atNs, latencyNs: 5, ok: true });
    for (let atNs = 350; atNs <= 1050; atNs += 350) complete({ thread: 1, atNs, latencyNs: 9, ok: true });
    expect(merged).toHaveLength(1);
    const { startNs, endNs, succeeded } = merged[0] as Batch;
    expect(succeeded).toBe(9 + 2);
    expect(succeeded / (endNs - startNs)).toBeCloseTo(9 / 900 + 2 / 700, 12);
  });

  it('go together by their numbers where nothing but a number of requests ends them', () => {
    const merged: Batch[] = [];
    const merge = new BatchMerge(3, { stepNs: 0, originNs: 0, minRequests: 7 }, ({ batch }) => merged.push(batch));
    const recorders = [0, 1, 2].map((thread) => {
      const recorder = new Recorder();
      const take = (batch: Batch): void => merge.add(thread, packBatch(batch), null);
      recorder.start({ lengthNs: 0, minRequests: 7, part: { index: thread, of: 3 } }, take, 0);
      return recorder;
    });
    // Of 28 requests the threads have 10, 9 and 9, and complete them one thread after the other.
    for (const [thread, count] of [10, 9, 9].entries()) {
      for (let done = 1; done <= count; done++) recorders[thread]?.record(done * 10, 5, { ok: true });
    }
    expect(merged.map(({ succeeded }) => succeeded)).toEqual([7, 7, 7, 7]);
  });

  it('have the times of the timed requests of all threads', () => {
    const merged: Batch[] = [];
    const merge = new BatchMerge(2, { stepNs: 0, originNs: 0, minRequests: 4 }, ({ batch }) => merged.push(batch));
    const times = { marshalNs: 1, sendNs: 2, waitNs: 3, receiveNs: 4, unmarshalNs: 5 };
    for (const thread of [0, 1]) {
      const recorder = new Recorder();
      const take = (batch: Batch): void => merge.add(thread, packBatch(batch), null);
      recorder.start({ lengthNs: 0, minRequests: 2 }, take, 0);
      for (let done = 1; done <= 4; done++) recorder.record(10 * done, 15, { ok: true, ...(done < 3 && { times }) });
    }
    const twice = { marshalNs: 4, sendNs: 8, waitNs: 12, receiveNs: 16, unmarshalNs: 20 };
    expect(merged.map(({ clientTimes }) => clientTimes)).toEqual([{ requests: 4, ...twice }, undefined]);
  });

  it('wait for the slowest thread, and do not drift from it', () => {
    const { merged, dues, complete } = merging(2, 1);
    for (let atNs = 10; atNs <= 50_000; atNs += 10) {
      complete({ thread: 0, atNs, latencyNs: 5, ok: true });
      if (atNs % 3700 === 0) complete({ thread: 1, atNs, latencyNs: 5, ok: true });
    }
    // The slow thread ends a batch every 3.7 steps, from its first completion on: 12 times.
    expect(merged).toHaveLength(12);
    for (const [index, { succeeded, failed }] of merged.entries()) {
      expect(failed).toBe(0);
      if (index > 0) expect(Math.abs(succeeded - 371)).toBeLessThanOrEqual(100);
    }
    expect(merged.reduce((sum, { succeeded }) => sum + succeeded, 0) / 12).toBeGreaterThan(350);
    expect(dues.every((due) => due !== null && due > 0)).toBe(true);
  });
});
