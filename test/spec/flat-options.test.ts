import { describe, expect, it } from 'vitest';
import { type CapacitySpec, capacityOptions } from '#spec/capacity-spec.ts';
import { filledOptions, namesOfChanges, placesIn } from '#spec/flat-options.ts';
import { type ProfileSpec, profileOptions } from '#spec/profile-spec.ts';
import { readSpecChange, specPaths } from '#spec/spec-change.ts';

const changesOf = (...texts: string[]) => texts.map((text) => readSpecChange(text, profileOptions));

describe.each([profileOptions, capacityOptions])('the options of $name', (document) => {
  it('reach every field by one name each', () => {
    const places = [...placesIn(document.schema, document.names).values()].map((place) => place.join('.'));
    expect(new Set(places).size).toBe(places.length);
    for (const path of specPaths(document))
      expect(
        places.some((place) => path === place || path.startsWith(`${place}.`)),
        path,
      ).toBe(true);
  });
});

describe('the options of a profile', () => {
  it('get defaults, and keep what fills no field', () => {
    const filled = filledOptions<ProfileSpec & { readonly basicAuth: string }>({ basicAuth: 'a:b' }, profileOptions);
    expect(filled).toMatchObject({ basicAuth: 'a:b', batch: 1, precision: 3, requestTimeout: 30, latencyThreshold: 0 });
    expect(filled.protocol).toBeUndefined();
  });

  it('are changed by path, which goes before them, also within a field', () => {
    const changes = changesOf(
      'traffic.batch=8',
      'traffic.shape.y=[2]',
      'goal.latencyBudgetMs=5',
      'levels.concurrencyRange={start: 1, end: 9, step: 4}',
      'measurement.maxTrials=null',
    );
    const filled = filledOptions<ProfileSpec>({ batch: 2, shape: { x: [3] }, maxTrials: 4 }, profileOptions, changes);
    expect(filled).toMatchObject({
      batch: 8,
      shape: { x: [3], y: [2] },
      latencyThreshold: 5,
      concurrencyRange: { start: 1, end: 9, step: 4 },
    });
    expect(namesOfChanges(changes, profileOptions)).toEqual(
      new Set(['batch', 'shape', 'latencyThreshold', 'concurrencyRange', 'maxTrials']),
    );
  });

  it.each([
    ['traffic.batch=0', /traffic\.batch: Too small/],
    ['levels.concurrencyRange={start: 9, end: 1, step: 1}', /must not end before it begins/],
    ['http.path=x', /expected a path such as/],
  ])('are refused by the schema: %s', (text, words) => {
    expect(() => filledOptions({}, profileOptions, changesOf(text))).toThrow(words);
  });

  it('have no fields of a study', () => {
    expect(() => changesOf('sampler.name=grid')).toThrow(/a profile has no field 'sampler\.name'/);
  });
});

describe('the options of a capacity', () => {
  it('are in per cent, with the headroom of a study', () => {
    const filled = filledOptions<CapacitySpec>({ latencyBudget: 5 }, capacityOptions);
    expect(filled).toMatchObject({ headroom: 10, holdChance: 95, replicaSpread: 0, requestDistribution: 'poisson' });
  });
});
