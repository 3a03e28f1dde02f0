import { describe, expect, it } from 'vitest';
import type { Candidate } from '#space/types.ts';
import { loadChance } from '#study/search/load-chance.ts';
import { configOf, failedTrial, toCandidate, trialOf } from './builders.ts';

const at = (instances: number, batch: number, more = {}) => toCandidate(configOf(instances, batch, more));
const loaded = (number: number, instances: number, batch: number) => trialOf(number, configOf(instances, batch));
const refused = (number: number, instances: number, batch: number, more = {}) =>
  failedTrial(number, configOf(instances, batch, more), 'out-of-memory');
const other = { parameters: { threads: { string_value: '2' } } };

describe('the chance to load', () => {
  it('is whole for what needs no more than what loaded, and after failures that say nothing of memory', () => {
    const trials = [loaded(0, 2, 8), refused(1, 6, 8)];
    expect(loadChance(at(2, 8), trials)).toBe(1);
    expect(loadChance(at(1, 8), trials)).toBe(1);
    expect(loadChance(at(9, 8), [failedTrial(1, configOf(3, 8), 'load-timeout')])).toBe(1);
  });

  it('falls from what loaded to what was refused, so that a limit is halved and not crept up to', () => {
    const trials = [loaded(0, 1, 8), refused(1, 9, 8)];
    const chances = [2, 3, 4, 5, 6, 7, 8].map((instances) => loadChance(at(instances, 8), trials));
    expect(chances).toEqual([...chances].sort((a, b) => b - a));
    expect(chances[3]).toBeCloseTo(0.5);
    expect(loadChance(at(9, 8), trials)).toBe(0);
  });

  it('learns from many places that load that it is the instances, and from many instances that it is the places', () => {
    const first = [loaded(0, 1, 8), refused(1, 4, 8)];
    const [fewer, smaller] = [at(2, 16), at(6, 2)];
    const instances = [...first, loaded(2, 2, 64)];
    expect(loadChance(smaller, instances)).toBeLessThan(loadChance(smaller, first) / 2);
    expect(loadChance(fewer, instances)).toBe(1);
    const places = [...first, loaded(2, 8, 1)];
    expect(loadChance(smaller, places)).toBeGreaterThan(loadChance(smaller, first));
  });

  it('falls for what needs as much with other settings, for every refusal again', () => {
    const trials = [loaded(0, 1, 4), refused(1, 3, 8)];
    expect(loadChance(at(3, 8, other), trials)).toBeLessThan(0.5);
    expect(loadChance(at(2, 8, other), trials)).toBe(1);
    const twice = [...trials, refused(2, 3, 4)];
    expect(loadChance(at(3, 8, other), twice)).toBeCloseTo(loadChance(at(3, 8, other), trials) ** 2);
  });

  it('still says something where loads and refusals contradict each other', () => {
    const trials = [loaded(0, 4, 8), refused(1, 4, 8), refused(2, 3, 8)];
    expect(loadChance(at(5, 8), trials)).toBeLessThan(0.2);
    expect(loadChance(at(1, 8), trials)).toBe(1);
  });
});

describe('the chance that an engine of a language model starts', () => {
  const engine = (maxSequences: number, maxStepTokens: number, kvCacheTokens: number): Candidate => {
    const { shape, ...candidate } = at(1, 0, {
      parameters: { of: { string_value: `${maxSequences} ${maxStepTokens}` } },
    });
    const policy = { maxSequences, maxStepTokens, kvCacheTokens, chunksPrefill: true, cachesPrefixes: false };
    return { ...candidate, shape: { ...shape, scheduling: 'continuous', continuous: policy } };
  };
  const trials = [
    { ...loaded(0, 1, 8), candidate: engine(32, 2048, 50_000) },
    { ...refused(1, 1, 8), candidate: engine(64, 4096, 60_000) },
  ];

  it('is whole with no more of anything than one that started, and small with as much of everything as one that did not', () => {
    expect(loadChance(engine(32, 1024, 40_000), trials)).toBe(1);
    expect(loadChance(engine(64, 8192, 60_000), trials)).toBeLessThan(0.2);
    expect(loadChance(engine(128, 2048, 50_000), trials)).toBe(1);
  });
});
