import { describe, expect, it } from 'vitest';
import { machineSpeed, type SpeedKind, slowestSpeed, speedKinds } from '../../lab/problems/machine-speed.ts';
import { atSpeed, type Truth } from '../../lab/problems/truth.ts';

const seeds = Array.from({ length: 60 }, (_, seed) => seed);
const STUDY_SECONDS = 150;

/** The speed at each second of that time. */
function courseOf(kind: SpeedKind, seed: number, seconds = STUDY_SECONDS): number[] {
  const speedAt = machineSpeed(kind, seed);
  return Array.from({ length: seconds }, (_, second) => speedAt(second));
}

const share = <T>(all: readonly T[], holds: (each: T) => boolean): number => all.filter(holds).length / all.length;

describe('a machine', () => {
  it.each(speedKinds)('of the kind %s is the same for the same seed', (kind) => {
    expect(courseOf(kind, 3)).toEqual(courseOf(kind, 3));
  });

  it.each(['walk', 'two-states'] as const)('of the kind %s is another one for another seed', (kind) => {
    const courses = new Set(seeds.map((seed) => courseOf(kind, seed, 600).join()));
    expect(courses.size).toBeGreaterThan(0.95 * seeds.length);
  });

  it('that is steady stays at full speed', () => {
    expect(new Set(courseOf('steady', 1))).toEqual(new Set([1]));
  });

  it('that walks leaves its bounds never, wanders off by some 15 % in a minute, and does not jump', () => {
    for (const seed of seeds) {
      const course = courseOf('walk', seed, 600);
      expect(Math.min(...course)).toBeGreaterThanOrEqual(0.55);
      expect(Math.max(...course)).toBeLessThanOrEqual(1.25);
      const steps = course.slice(1).map((speed, index) => Math.abs(Math.log(speed / (course[index] as number))));
      expect(Math.max(...steps)).toBeLessThan(0.12);
    }
    const afterMinute = seeds.map((seed) => Math.log(machineSpeed('walk', seed)(60)));
    const sd = Math.sqrt(afterMinute.reduce((sum, log) => sum + log * log, 0) / afterMinute.length);
    expect(sd).toBeGreaterThan(0.1);
    expect(sd).toBeLessThan(0.2);
  });

  it('of two states is at 0.6 or at 1, half of them at first, and stays so for one to three minutes', () => {
    for (const seed of seeds) {
      const course = courseOf('two-states', seed, 590);
      expect(new Set([...course, 0.6, 1])).toEqual(new Set([0.6, 1]));
      const changes = course.flatMap((speed, second) => (second > 0 && speed !== course[second - 1] ? [second] : []));
      const stays = changes.slice(1).map((second, index) => second - (changes[index] as number));
      expect(changes.length).toBeGreaterThanOrEqual(2);
      expect(Math.min(...stays)).toBeGreaterThanOrEqual(59);
      expect(Math.max(...stays)).toBeLessThanOrEqual(181);
    }
    const startsSlow = share(seeds, (seed) => machineSpeed('two-states', seed)(0) === 0.6);
    expect(startsSlow).toBeGreaterThan(0.3);
    expect(startsSlow).toBeLessThan(0.7);
    // In a study of usual length most see both.
    expect(share(seeds, (seed) => new Set(courseOf('two-states', seed, 90)).size === 2)).toBeGreaterThan(0.5);
  });

  it('that heats up loses a quarter within the first minutes, most of it in the first', () => {
    const course = courseOf('heating', 1, 600);
    expect(course[0]).toBeCloseTo(1, 2);
    expect(course[60]).toBeLessThan(0.82);
    expect(course.at(-1)).toBeCloseTo(0.75, 3);
    expect(course).toEqual([...course].sort((a, b) => b - a));
  });

  it('keeps its last speed beyond ten minutes, and its first before the study', () => {
    for (const kind of speedKinds) {
      const speed = machineSpeed(kind, 2);
      expect(speed(10_000)).toBe(speed(599.9));
      expect(speed(-1)).toBe(speed(0));
    }
  });

  it('is hardly ever slower in a study than what a study has to reckon with', () => {
    for (const kind of speedKinds) {
      const slowest = seeds.map((seed) => Math.min(...courseOf(kind, seed, 90)));
      expect(
        share(slowest, (speed) => speed >= slowestSpeed[kind] - 1e-9),
        kind,
      ).toBeGreaterThan(0.95);
    }
  });
});

describe('a server at another speed', () => {
  const truth: Truth = {
    throughput: 1000,
    latencyMs: { avg: 4, p50: 3.5, p90: 6, p95: 7, p99: 9 },
    queueUs: 1500,
    computeUs: 2000,
    batches: [{ size: 4, executions: 300, meanExecutionUs: 2100 }],
    split: { inputUs: 100, outputUs: 50, overheadUs: 30 },
  };

  it('takes 1 / speed as long for everything, and serves as much less', () => {
    expect(atSpeed(truth, 0.5)).toEqual({
      throughput: 500,
      latencyMs: { avg: 8, p50: 7, p90: 12, p95: 14, p99: 18 },
      queueUs: 3000,
      computeUs: 4000,
      batches: [{ size: 4, executions: 300, meanExecutionUs: 4200 }],
      split: { inputUs: 200, outputUs: 100, overheadUs: 60 },
    });
    expect(atSpeed(truth, 1)).toBe(truth);
  });
});
