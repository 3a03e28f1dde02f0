import { describe, expect, it } from 'vitest';
import type { Measurement } from '#profiler/measurement.ts';
import type { Sampler } from '#study/types.ts';
import type { MeasurePurpose, Profile } from '#tuner/adapter.ts';
import { goalOf, studyStarted } from '../study/builders.ts';
import { everyCandidate, play, space, World } from './world.ts';

/** A sampler with levels of its own, which begins with 8 requests in flight. */
const fromEight: Sampler = {
  ask: everyCandidate(space).ask,
  level: (_, { measurements }) => (measurements.every(({ level }) => level.value < 8) ? 8 : null),
};

const withWindows = (measurement: Measurement): Measurement => {
  const { value } = measurement.budgetLatencyMs;
  return { ...measurement, windowPercentilesMs: { low: value, high: 2 * value } };
};

async function played(low: number, mode: 'concurrency' | 'request-rate' = 'concurrency') {
  const world = new World();
  world.bend = withWindows;
  const asked: (readonly [MeasurePurpose | undefined, number])[] = [];
  const profile: Profile = {
    measure: (applied, level, options) => {
      asked.push([options.purpose, level.value]);
      return world.profile.measure(applied, level, options);
    },
  };
  const { type: _, at: __, ...study } = studyStarted(goalOf(40), { levels: { mode, low, high: 64 } });
  const plan = { study, finalRounds: 0, maxTrials: 1 };
  return { asked, ...(await play({ world, plan, parts: { sampler: fromEight, profile } })) };
}

describe('the start of a study', () => {
  it('measures the original config at rest first, as one of its readings, and says what the noise is', async () => {
    const { asked, state, events } = await played(1);
    expect(asked).toEqual([
      ['rest', 1],
      ['search', 8],
      ['search', 8],
    ]);
    expect(state?.baseline?.measurements.map(({ level }) => level.value)).toEqual([1, 8]);
    const valueMs = state?.baseline?.measurements[0]?.budgetLatencyMs.value ?? Number.NaN;
    const told = events.filter(({ type }) => type === 'noise-floor');
    expect(told).toEqual([
      expect.objectContaining({ percentile: 99, valueMs, highMs: 2 * valueMs, share: valueMs / (40 - valueMs) }),
    ]);
    const at = events.findIndex(({ type }) => type === 'noise-floor');
    expect(events[at - 1]?.type).toBe('trial-measured');
    expect(events.slice(0, at).filter(({ type }) => type === 'trial-measured')).toHaveLength(1);
  });

  it('has no measurement at rest where the range begins with a load', async () => {
    const { asked, events } = await played(6);
    expect(asked.map(([purpose]) => purpose)).not.toContain('rest');
    expect(events.map(({ type }) => type)).not.toContain('noise-floor');
  });

  it('measures at rest again in a run that was resumed before the original config was done, and only then', async () => {
    const { records } = await played(1);
    const resumedAt = async (type: 'trial-measured' | 'trial-finished'): Promise<readonly string[]> => {
      const earlier = records.slice(0, 1 + records.findIndex((record) => record.type === type));
      const world = new World();
      world.bend = withWindows;
      const plan = { earlier, finalRounds: 0, maxTrials: 1 };
      const { events } = await play({ world, plan, parts: { sampler: fromEight } });
      return events.flatMap((event) => (event.type === 'noise-floor' ? [event.type] : []));
    };
    expect(await resumedAt('trial-measured')).toEqual(['noise-floor']);
    expect(await resumedAt('trial-finished')).toEqual([]);
  });
});
