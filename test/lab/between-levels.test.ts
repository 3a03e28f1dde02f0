import { expect, it } from 'vitest';
import { loadLevels } from '../../lab/commands/record-options.ts';
import { truthAt } from '../../lab/problems/between-levels.ts';
import type { Truth } from '../../lab/problems/truth.ts';

const truth = (throughput: number, ms: number): Truth => ({
  throughput,
  latencyMs: { avg: ms, p50: ms, p90: ms, p95: ms, p99: 2 * ms },
  queueUs: 100,
  computeUs: 1000,
  batches: [{ size: 1, executions: 10, meanExecutionUs: 1000 }],
  split: { inputUs: 100, outputUs: 50, overheadUs: 5 },
});
const rows = [
  { level: 1, truth: truth(100, 10) },
  { level: 4, truth: truth(400, 10) },
];

it('gives what was recorded where it was, and the geometric middle half-way by ratio', () => {
  expect(truthAt(rows, 4)).toEqual(truth(400, 10));
  expect(truthAt(rows, 2).throughput).toBeCloseTo(200, 9);
});

it('lets further requests wait above the last level: as many replies, and latency in proportion', () => {
  const beyond = truthAt(rows, 8);
  expect(beyond.throughput).toBe(400);
  expect(beyond.latencyMs).toMatchObject({ avg: 20, p99: 40 });
  expect(beyond.queueUs).toBe(100 + 10_000);
  expect(beyond).toMatchObject({ computeUs: 1000, batches: rows[1]?.truth.batches });
});

it.each([
  ['1:64', [1, 2, 4, 8, 16, 32, 64]],
  ['1:48', [1, 2, 4, 8, 16, 32, 48]],
  ['3', [3]],
  ['16,1,4,4', [1, 4, 16]],
])('reads the levels %s', (text, levels) => expect(loadLevels(text)).toEqual(levels));
