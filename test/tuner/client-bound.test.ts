import { describe, expect, it } from 'vitest';
import type { Measurement } from '#profiler/measurement.ts';
import { toModelConfig } from '#space/model-configs.ts';
import { assess, isFeasible } from '#study/goal/goal.ts';
import { computeStanding } from '#study/goal/ranking.ts';
import { checkRecord } from '#study/records/record-schema.ts';
import { summarize } from '#study/summary/summary.ts';
import { goalOf, measured, originalConfig, toCandidate } from '../study/builders.ts';
import { play, World } from './world.ts';

const boundClient = {
  cpuUsPerRequest: 20,
  eventLoopDelayMs: 1,
  bound: true,
  reason: 'its CPU was busy 97 % of the time',
};
const bind = (measurement: Measurement): Measurement => ({ ...measurement, client: boundClient });
const candidate = toCandidate(originalConfig);

describe('a measurement that the load generator limited', () => {
  it('never counts, however good its figures are', () => {
    const [modest, splendid] = [measured(4, 100, 5), bind(measured(8, 9000, 1))];
    expect(isFeasible(splendid, candidate, goalOf(10))).toBe(false);
    expect(assess(splendid, candidate, goalOf(10)).violation).toBe(Number.POSITIVE_INFINITY);
    expect(computeStanding([modest, splendid], candidate, goalOf(10))).toEqual({ chosen: 0, feasible: true });
    expect(computeStanding([splendid], candidate, goalOf(10))).toEqual({ chosen: null, feasible: false });
  });

  it('is no point of the front and does not become the best; the summary counts it', async () => {
    const world = new World();
    world.bend = (measurement) => (measurement.throughput.value > 250 ? bind(measurement) : measurement);
    const { state, events } = await play({ world });
    expect(state?.best?.failure).toBeNull();
    const summary = summarize(state as NonNullable<typeof state>, 'journal.jsonl');
    expect(summary.best?.throughput.value).toBeLessThanOrEqual(250);
    expect(summary.pareto.every((point) => (point.throughput.value as number) <= 250)).toBe(true);
    const bound = events.filter(
      (event) => (event.type === 'trial-measured' || event.type === 'final-measured') && event.measurement.client.bound,
    );
    expect(bound.length).toBeGreaterThan(0);
    expect(summary.clientBound).toEqual({ measurements: bound.length, reason: boundClient.reason });
  });

  it('fails a trial that has no other, with the reason', async () => {
    const world = new World();
    world.bend = (measurement, config) => (config.max_batch_size === 8 ? bind(measurement) : measurement);
    const { state } = await play({ world });
    const failed = state?.trials.filter((trial) => toModelConfig(trial.candidate).max_batch_size === 8) ?? [];
    expect(failed.length).toBeGreaterThan(0);
    for (const { failure, feasible, chosen } of failed) {
      expect(failure).toMatchObject({ kind: 'client-bound', reason: expect.stringMatching(/not the server: its CPU/) });
      expect([feasible, chosen]).toEqual([false, null]);
    }
    expect(summarize(state as NonNullable<typeof state>, '').best?.config.max_batch_size).toBeLessThan(8);
  });

  it('leaves nothing to report when every measurement was one, and restores the model', async () => {
    const world = new World();
    world.bend = bind;
    const { state, error } = await play({ world });
    expect(error).toBeNull();
    expect(summarize(state as NonNullable<typeof state>, '')).toMatchObject({
      best: null,
      feasible: false,
      restored: { verified: true },
    });
  });

  it('is none in journals from before there was a verdict', () => {
    const { bound: _, reason: _reason, ...client } = boundClient;
    const old = { type: 'trial-measured', at: '', trial: 0, measurement: { ...measured(1, 1, 1), client } };
    expect(checkRecord(old)).toMatchObject({ record: { measurement: { client: { bound: false } } } });
  });
});
