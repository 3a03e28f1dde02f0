import { expect, it } from 'vitest';
import { describeMeasurement } from '#headless/measurement-line.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { configOf, goalOf, measured, toCandidate } from '../study/builders.ts';

const candidate = toCandidate(configOf(1, 4), {});
const line = (more: Partial<Measurement>): string =>
  describeMeasurement(measured(4, 400, 8, more), goalOf(60), candidate);
const failures = [{ kind: 'status', count: 25, firstMessage: 'Exceeds maximum queue size' }] as const;

it('is within budget unless more requests failed than the goal allows, and says why they failed', () => {
  expect(line({})).toBe('concurrency 4: 400 infer/s ±2.0 %, p99 8 ms, within budget');
  expect(line({ errorRate: 0.005, failures })).toBe(
    'concurrency 4: 400 infer/s ±2.0 %, p99 8 ms, within budget, 0.5 % of requests failed (`Exceeds maximum queue size`)',
  );
  expect(line({ errorRate: 0.025, failures })).toBe(
    'concurrency 4: 400 infer/s ±2.0 %, p99 8 ms, 2.5 % of requests failed (`Exceeds maximum queue size`), 1 % are allowed',
  );
});

it('gives no figures where every request failed', () => {
  expect(line({ errorRate: 1, failures, requests: 1000 })).toBe(
    'concurrency 4: all requests failed (`Exceeds maximum queue size`)',
  );
});
