import { describe, expect, it } from 'vitest';
import { countStages, frontLevels } from '#space/topology.ts';

const front = (model: string, own: object = {}) => ({ model, steps: [{ stage: model }], ...own });

describe('frontLevels', () => {
  it('divides requests in flight by the shares, as whole numbers with their sum', () => {
    const fronts = [front('a', { share: 3 }), front('b', { share: 1 }), front('c', { share: 1 })];
    const values = frontLevels({ fronts }, { mode: 'concurrency', value: 16 }).map(({ value }) => value);
    expect(values).toEqual([10, 3, 3]);
  });

  it('gives each front one request in flight at least', () => {
    const fronts = [front('a', { share: 100 }), front('b')];
    expect(frontLevels({ fronts }, { mode: 'concurrency', value: 1 }).map(({ value }) => value)).toEqual([1, 1]);
  });

  it('divides rates exactly, and leaves a fixed rate alone', () => {
    const fronts = [front('a', { share: 3 }), front('b', { requestsPerSecond: 40 }), front('c')];
    expect(frontLevels({ fronts }, { mode: 'request-rate', value: 10 })).toEqual([
      { mode: 'request-rate', value: 7.5 },
      { mode: 'request-rate', value: 40 },
      { mode: 'request-rate', value: 2.5 },
    ]);
  });

  it('keeps the mode of a fixed rate beside requests in flight', () => {
    const fronts = [front('a'), front('b', { requestsPerSecond: 40 })];
    expect(frontLevels({ fronts }, { mode: 'concurrency', value: 8 })).toEqual([
      { mode: 'concurrency', value: 8 },
      { mode: 'request-rate', value: 40 },
    ]);
  });
});

describe('countStages', () => {
  it('counts the places of a stage in nested steps', () => {
    const steps = [{ stage: 'a' }, { steps: [{ stage: 'b' }, { stage: 'a' }] }];
    expect([...countStages({ steps }, {})]).toEqual([
      ['a', 2],
      ['b', 1],
    ]);
  });

  it('follows the calls of BLS models, whose number nobody knows beforehand', () => {
    const calls = { a: ['b', 'c'], c: ['d', 'a'] };
    expect([...countStages({ steps: [{ stage: 'b' }, { stage: 'a' }] }, { calls })]).toEqual([
      ['b', null],
      ['a', null],
      ['c', null],
      ['d', null],
    ]);
  });
});
