import { describe, expect, it } from 'vitest';
import { gpuMemoryNeed } from '#perfmodel/gpu-memory-need.ts';
import { toChoice } from '#perfmodel/modelled-config.ts';
import type { MeasuredChoice } from '#perfmodel/service-model.ts';
import { toModelConfig } from '#space/model-configs.ts';
import { queueingSampler } from '#study/search/queueing/queueing.ts';
import type { Goal, Trial } from '#study/types.ts';
import { configOf, goalOf, measured, toCandidate, trialOf } from '../study/builders.ts';
import { smallSpace } from '../study/sampler-suite.ts';

/** A GPU with 8,000 MiB on which others hold 500. */
const TOTAL_MIB = 8000;
const trueMib = (instances: number, batch: number, perInstance = 2000): number =>
  500 + instances * (perInstance + 2 * batch);

const precise = (precision: string) => ({ parameters: { precision: { string_value: precision } } });
const onGpu = (count: number) => ({ instance_group: [{ kind: 'KIND_GPU', count, gpus: [0] }] }) as const;
const at = (instances: number, batch: number, more = {}) =>
  toChoice(toCandidate(configOf(instances, batch, { ...onGpu(instances), ...more })));

function using(instances: number, batch: number, gpuMemoryMiB: number, more = {}): MeasuredChoice {
  const gpus = [{ uuid: 'GPU-1', memoryTotalBytes: TOTAL_MIB * 2 ** 20 }];
  return {
    choice: at(instances, batch, more),
    measurements: [measured(8, 100, 5, { device: { gpuMemoryMiB, gpus } })],
  };
}
const seen = (instances: number, batch: number, more = {}): MeasuredChoice =>
  using(instances, batch, trueMib(instances, batch), more);

const chance = (measuredSo: readonly MeasuredChoice[], ...asked: Parameters<typeof at>): number =>
  gpuMemoryNeed(measuredSo)?.chanceToFit?.(at(...asked)) ?? Number.NaN;

describe('the GPU memory that candidates need', () => {
  it('is open after one reading, the more so the more instances', () => {
    const first = [seen(1, 8)];
    expect(chance(first, 1, 8)).toBeGreaterThan(0.99);
    const chances = [2, 3, 4, 8].map((instances) => chance(first, instances, 8));
    expect(chances).toEqual([...chances].sort((a, b) => b - a));
    expect(chances[2]).toBeGreaterThan(0.3);
    expect(chances[2]).toBeLessThan(0.9);
  });

  it('is thought to be what is there anyway where the instances are on the CPU, until a second one shows that it is theirs', () => {
    const cpu = (count: number) => ({ instance_group: [{ kind: 'KIND_CPU', count }] });
    const on = (instances: number, mib: number) => using(instances, 8, mib, cpu(instances));
    expect(chance([on(1, 3000)], 3, 8, cpu(3))).toBeGreaterThan(0.95);
    expect(chance([on(1, 3000)], 3, 8, cpu(3))).toBeGreaterThan(chance([using(1, 8, 3000)], 3, 8) + 0.1);
    expect(chance([on(1, 3000), on(2, 3000)], 8, 8, cpu(8))).toBeGreaterThan(0.99);
    expect(chance([on(1, 3000), on(2, 6000)], 4, 8, cpu(4))).toBeLessThan(0.05);
  });

  it('is told by two counts of instances, with other settings too, if less surely', () => {
    const two = [seen(1, 8), seen(2, 8)];
    expect(chance(two, 3, 8)).toBeGreaterThan(0.95);
    expect(chance(two, 5, 8)).toBeLessThan(0.02);
    const elsewhere = chance(two, 5, 8, precise('fp16'));
    expect(elsewhere).toBeGreaterThan(chance(two, 5, 8));
    expect(elsewhere).toBeLessThan(0.3);
  });

  it('learns what a setting changes', () => {
    const half = using(2, 8, trueMib(2, 8, 1000), precise('fp16'));
    const known = [seen(1, 8), seen(2, 8), half];
    expect(chance(known, 5, 8, precise('fp16'))).toBeGreaterThan(0.9);
    expect(chance(known, 5, 8)).toBeLessThan(0.05);
  });

  it('learns what batches take', () => {
    const known = [using(1, 1, 520), using(1, 64, 1780), using(2, 32, 1780)];
    const { mean, sd } = gpuMemoryNeed(known)?.mib(at(4, 64)) ?? { mean: 0, sd: 0 };
    expect(Math.abs(mean - (500 + 4 * 64 * 20)) / mean).toBeLessThan(0.15);
    expect(sd / mean).toBeLessThan(0.2);
    expect(chance(known, 8, 64)).toBeLessThan(0.2);
  });

  it('is more than there is where a load ran out of it: others that need about as much have less hope', () => {
    const first = [seen(1, 8)];
    const told = gpuMemoryNeed(first, [at(4, 8)])?.chanceToFit;
    expect(told?.(at(4, 8))).toBeLessThan(chance(first, 4, 8) / 4);
    expect(told?.(at(4, 8, precise('fp16')))).toBeLessThan(chance(first, 4, 8, precise('fp16')) / 1.5);
    expect(told?.(at(2, 8))).toBeGreaterThan(0.7);
  });

  it('is there for what needs no more than one of its kind that loaded, however full the GPU was then', () => {
    const known = [seen(1, 8), using(3, 64, 0.99 * TOTAL_MIB)];
    expect([chance(known, 3, 64), chance(known, 3, 32), chance(known, 2, 64)]).toEqual([1, 1, 1]);
    expect(chance(known, 3, 64, precise('fp16'))).toBeLessThan(0.9);
    expect(chance(known, 4, 8)).toBeLessThan(0.7);
  });

  it('believes a refusal of what it had held for small', () => {
    const known = [using(1, 8, 100), using(2, 8, 150)];
    expect(chance(known, 4, 8)).toBeGreaterThan(0.99);
    expect(gpuMemoryNeed(known, [at(4, 8)])?.chanceToFit?.(at(4, 8))).toBeLessThan(0.6);
  });

  it('is not told where somebody holds nearly all that there is, and where the server does not report it', () => {
    expect(gpuMemoryNeed([using(1, 8, 7000)])?.chanceToFit).toBeNull();
    const noTotal = { choice: at(1, 8), measurements: [measured(8, 100, 5, { device: { gpuMemoryMiB: 300 } })] };
    expect(gpuMemoryNeed([noTotal])?.chanceToFit).toBeNull();
    expect(gpuMemoryNeed([{ choice: at(1, 8), measurements: [measured(8, 100, 5)] }])).toBeNull();
    expect(gpuMemoryNeed([])).toBeNull();
  });
});

describe('a sampler that knows what candidates need', () => {
  const levels = { mode: 'concurrency', low: 1, high: 64 } as const;
  const unlimited = { trials: Number.POSITIVE_INFINITY, seconds: Number.POSITIVE_INFINITY };
  /**
   * One instance, then two, at another precision than all candidates have: nothing that was refused
   * says anything of these.
   */
  const history = (withMemory: boolean): Trial[] =>
    [1, 2].map((instances) => {
      const { choice, measurements } = using(instances, 4, 500 + 3000 * instances, precise('fp32'));
      const level = { throughput: { value: 400 * instances, low: 390 * instances, high: 410 * instances } };
      return trialOf(instances - 1, toModelConfig(choice.candidate), {
        measurements: measurements.map((each) => ({ ...each, ...level, ...(!withMemory && { device: {} }) })),
      });
    });
  const proposed = (trials: readonly Trial[], goal: Goal) => {
    const answer = queueingSampler(smallSpace, { seed: 1, goal, levels }).ask({ trials }, unlimited);
    return answer.kind === 'trial' ? answer.assignment.count : answer.reason;
  };
  const within = (limitMib: number) =>
    goalOf(1000, { constraints: [{ metric: 'gpu-memory', relation: '<=', value: limitMib }] });

  it('does not ask for what probably finds no room, though nothing has been refused', () => {
    expect(proposed(history(false), goalOf(1000))).toBeGreaterThan(2);
    expect(proposed(history(true), goalOf(1000))).toBe(2);
  });

  it('keeps a limit on memory, at other settings too', () => {
    expect(proposed(history(true), within(4500))).toBe(1);
  });
});
