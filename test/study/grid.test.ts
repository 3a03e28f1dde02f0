import { describe, expect, it } from 'vitest';
import { toModelConfig } from '#space/model-configs.ts';
import { gridSampler } from '#study/search/samplers/grid.ts';
import { nextInSweep } from '#study/search/samplers/grid-sweep.ts';
import type { LevelRange, RunningTrial, Trial, TrialFailure } from '#study/types.ts';
import { play, space } from '../tuner/world.ts';
import { configOf, goalOf, measured, toCandidate, trialOf } from './builders.ts';
import { drain, smallSpace } from './sampler-suite.ts';

const range: LevelRange = { mode: 'concurrency', low: 1, high: 64 };
const grid = () => gridSampler(smallSpace, { goal: goalOf(8), levels: range });

/**
 * What a drained grid tried, as delay/batch/count, when its candidates have these throughputs, or
 * fail so.
 */
function triedWith(toOutcome: (place: string, batch: number) => number | TrialFailure['kind']) {
  const place = (trial: Trial): string => Object.values(trial.candidate.assignment).join('/');
  const { trials, reason } = drain(grid(), (_, trial) => {
    const outcome = toOutcome(place(trial), toModelConfig(trial.candidate).max_batch_size ?? 0);
    if (typeof outcome === 'number') return { ...trial, measurements: [measured(1, 50, 5), measured(2, outcome, 6)] };
    return { ...trial, measurements: [], chosen: null, feasible: false, failure: { kind: outcome, reason: 'no' } };
  });
  return { tried: trials.slice(1).map(place), reason };
}

const all = [
  ...['0/1/1', '0/1/2', '0/1/3', '0/1/4'],
  ...['0/4/1', '0/4/2', '0/4/3', '0/4/4'],
  ...['0/8/1', '0/8/2', '0/8/3', '0/8/4'],
  ...['100/4/1', '100/4/2', '100/4/3', '100/4/4'],
];
const without = (...places: readonly string[]): string[] => all.filter((each) => !places.includes(each));

describe('the walks of the grid', () => {
  it('go through the space in its own order while larger batches serve more', () => {
    expect(triedWith((_, batch) => 100 + batch)).toEqual({
      tried: all,
      reason: 'every candidate of the search space was tried',
    });
  });

  it('end where a batch size does not serve more than the best below it, each for its number of instances', () => {
    const { tried, reason } = triedWith((place, batch) =>
      place === '0/4/2' ? 101 : place === '0/4/3' ? 101.1 : 100 + batch,
    );
    expect(tried).toEqual(without('0/8/2'));
    expect(reason).toContain('but for batch sizes beyond');
  });

  it('have no exit by instances, and none by what another delay has shown', () => {
    expect(triedWith((place) => Number(place === '0/1/1') + 100).tried).toEqual(
      without('0/8/1', '0/8/2', '0/8/3', '0/8/4'),
    );
  });

  it('end where the server refused a batch size or did not serve it', () => {
    for (const kind of ['requests-failed', 'load-timeout'] as const)
      expect(triedWith((place, batch) => (place === '0/4/3' ? kind : 100 + batch)).tried).toEqual(without('0/8/3'));
  });

  it('go on where a trial says nothing of the batch size', () => {
    for (const kind of ['skipped', 'client-bound'] as const)
      expect(triedWith((place, batch) => (place === '0/4/3' ? kind : 100 + batch)).tried).toEqual(all);
  });
});

/** A trial under way with these levels and throughputs, whose latency is its level in ms. */
const running = (made: readonly (readonly [number, number])[], more: Partial<RunningTrial> = {}): RunningTrial => ({
  number: 9,
  role: 'search',
  candidate: toCandidate(configOf(2, 4)),
  measurements: made.map(([level, throughput]) => measured(level, throughput, level)),
  ...more,
});
const next = (trial: RunningTrial, latencyMs: number | null = null, trials: readonly Trial[] = [], over = range) =>
  nextInSweep(trial, trials, goalOf(latencyMs), over);
/** A finished trial whose best level has this throughput. */
const withBest = (number: number, throughput: number): Trial =>
  trialOf(number, configOf(1, number), { measurements: [measured(4, throughput, 4)] });

describe('the sweep of the grid', () => {
  const growing = [1, 2, 4, 8, 16].map((level) => [level, 100 * level] as const);
  const flat = [
    [1, 100],
    [2, 190],
    [4, 195],
    [8, 198],
    [16, 199.5],
  ] as const;

  it('doubles from the low end', () => {
    expect(next(running([]))).toBe(1);
    for (const [index, [level]] of growing.entries())
      expect(next(running(growing.slice(0, index + 1)))).toBe(2 * level);
  });

  it('ends when the best of the last four levels has at most 5 % more throughput than the first of them', () => {
    expect(next(running(flat.slice(0, 4)))).toBe(16);
    expect(next(running(flat))).toBeNull();
    expect(next(running([...flat.slice(0, 4), [16, 199.6]]))).toBe(32);
  });

  it('measures the high end of the range, and ends there', () => {
    const upTo20 = { ...range, high: 20 };
    expect(next(running(growing), null, [], upTo20)).toBe(20);
    expect(next(running([...growing, [20, 2000]]), null, [], upTo20)).toBeNull();
  });

  it('ends with a level that could not be measured', () => {
    const bound = { ...measured(4, 400, 4), client: { cpuUsPerRequest: 20, eventLoopDelayMs: 1, bound: true } };
    const broken = { ...measured(4, 400, 4), tooManyErrors: true } as const;
    for (const last of [bound, broken, measured(4, 0, 4)]) {
      const { measurements } = running(growing.slice(0, 2));
      expect(next(running([], { measurements: [...measurements, last] }))).toBeNull();
    }
  });

  it('goes on beyond the budget, then halves the bracket five times at most', () => {
    const wide: LevelRange = { mode: 'concurrency', low: 1, high: 1024 };
    const made: [number, number][] = [];
    for (;;) {
      const level = next(running(made), 700, [], wide);
      if (level === null) break;
      made.push([level, 100 * level]);
    }
    expect(made.map(([level]) => level).slice(9)).toEqual([512, 1024, 768, 640, 704, 672, 688]);
  });

  it('does not halve what has nothing between, or where every level keeps the budget or misses it', () => {
    expect(next(running(flat), 17)).toBeNull();
    expect(next(running(flat), 0.5)).toBeNull();
    expect(next(running([...flat, [3, 192]]), 3)).toBeNull();
    expect(next(running(flat), 3)).toBe(3);
  });

  it('halves for the three best so far and the original config only', () => {
    const better = [1, 2, 3].map((number) => withBest(number, 300));
    expect(next(running(flat), 10, better.slice(0, 2))).toBe(12);
    expect(next(running(flat), 10, better)).toBeNull();
    expect(next(running(flat, { role: 'baseline' }), 10, better)).toBe(12);
    const lost = better.map(
      (trial): Trial => ({ ...trial, chosen: null, failure: { kind: 'server-lost', reason: '' } }),
    );
    expect(next(running(flat), 10, lost)).toBe(12);
  });

  it('goes through request rates alike, with halves that are no whole numbers', () => {
    const rates: LevelRange = { mode: 'request-rate', low: 0.5, high: 1.5 };
    expect(next(running([[0.5, 0.5]]), 1.2, [], rates)).toBe(1);
    expect(
      next(
        running([
          [0.5, 0.5],
          [1, 1],
        ]),
        1.2,
        [],
        rates,
      ),
    ).toBe(1.5);
    expect(
      next(
        running([
          [0.5, 0.5],
          [1, 1],
          [1.5, 1.5],
        ]),
        1.2,
        [],
        rates,
      ),
    ).toBe(1.25);
  });
});

describe('a whole run of the grid', () => {
  it('measures the levels that the rules say, and finds the best', async () => {
    const goal = goalOf(40);
    const { state } = await play({ goal, parts: { sampler: gridSampler(space, { goal, levels: range }) } });
    const levels = state?.trials.map(({ measurements }) => measurements.map(({ level }) => level.value)) ?? [];
    // The original config serves 140/s at most, one instance without batches 110/s, four of them
    // 440/s.
    expect(levels[0]?.slice(0, -1)).toEqual([1, 2, 4, 8, 16, 6, 5]);
    // It is measured once more when the search is over, at a level where it serves 140/s.
    expect([2, 4, 5]).toContain(levels[0]?.at(-1));
    expect(levels[1]).toEqual([1, 2, 4, 8, 16, 6, 5]);
    expect(levels[4]).toEqual([1, 2, 4, 8, 16, 32, 64, 24, 20, 18, 17]);
    // With batches of eight one instance serves 180/s and is not among the three best.
    expect(state?.trials[8]?.candidate.assignment).toEqual({ batch: 8, count: 1 });
    expect(levels[8]).toEqual([1, 2, 4, 8, 16]);
    expect(levels).toHaveLength(12);
    expect(state?.best?.candidate.assignment).toEqual({ batch: 8, count: 4 });
    expect(state?.best?.measurements[state.best.chosen ?? 0]?.level.value).toBe(8);
  });
});
