import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '#base/json.ts';
import { seededRandom } from '#base/random.ts';
import { buildCandidate } from '#space/candidate.ts';
import { assignments, sampleAssignment, spaceSize } from '#space/enumerate.ts';
import { toOriginal } from '#space/model-configs.ts';
import { loadSpace } from '#space/source/load.ts';
import { presetNames } from '#space/source/presets.ts';
import type { SearchSpace } from '#space/types.ts';
import { cpuModel, gpuModel, spaceOf } from './fixtures.ts';

/**
 * Spaces of many forms: each parameter has some values, perhaps a condition on one before it, and a
 * rule binds them.
 */
const spaces: fc.Arbitrary<SearchSpace> = fc
  .record({
    instances: fc.integer({ min: 1, max: 4 }),
    batches: fc.integer({ min: 0, max: 5 }),
    delays: fc.uniqueArray(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 4 }),
    hasOff: fc.boolean(),
    isConditional: fc.boolean(),
    hasChoice: fc.boolean(),
    bound: fc.integer({ min: 1, max: 200 }),
  })
  .map(({ instances, batches, delays, hasOff, isConditional, hasChoice, bound }) =>
    spaceOf(`
parameters:
  queue_delay_us: { values: [${delays.join(', ')}], when: { dynamic_batching: on } }
  instances: { range: [1, ${instances}] }
  max_batch_size: { powers: [1, ${2 ** batches}] }
  dynamic_batching: { values: [${hasOff ? 'off, ' : ''}on]${isConditional ? ', when: { max_batch_size: { above: 1 } }' : ''} }
${hasChoice ? '  arm: { change: expensive, choices: { a: {}, b: { parameters.p: 1 } } }' : ''}
rules:
  - { require: instances * max_batch_size <= ${bound}, message: too much }
`),
  );

const textsOf = (space: SearchSpace): string[] =>
  [...assignments(space, toOriginal(cpuModel))].map((one) => canonicalJson(one));

describe('assignments', () => {
  it('are all legal, all different, as many as the size says, and the same every time', () => {
    fc.assert(
      fc.property(spaces, (space) => {
        const texts = textsOf(space);
        expect(new Set(texts).size).toBe(texts.length);
        expect(spaceSize(space, toOriginal(cpuModel))).toBe(texts.length);
        expect(textsOf(space)).toEqual(texts);
        for (const assignment of assignments(space, toOriginal(cpuModel))) {
          expect(buildCandidate(space, toOriginal(cpuModel), assignment)).toMatchObject({
            legal: true,
            candidate: { assignment },
          });
        }
      }),
      { numRuns: 40 },
    );
  });

  it('are the combinations that a person counts', () => {
    const space = spaceOf(`
parameters:
  instances: [1, 2]
  max_batch_size: [1, 4]
  dynamic_batching: { values: [off, on], when: { max_batch_size: { above: 1 } } }
  queue_delay_us: { values: [0, 100], when: { dynamic_batching: on } }
`);
    expect([...assignments(space, toOriginal(cpuModel))]).toEqual([
      { max_batch_size: 1, instances: 1 },
      { max_batch_size: 1, instances: 2 },
      { max_batch_size: 4, dynamic_batching: false, instances: 1 },
      { max_batch_size: 4, dynamic_batching: false, instances: 2 },
      { max_batch_size: 4, dynamic_batching: true, queue_delay_us: 0, instances: 1 },
      { max_batch_size: 4, dynamic_batching: true, queue_delay_us: 0, instances: 2 },
      { max_batch_size: 4, dynamic_batching: true, queue_delay_us: 100, instances: 1 },
      { max_batch_size: 4, dynamic_batching: true, queue_delay_us: 100, instances: 2 },
    ]);
  });

  it.each(presetNames())('of %s change only instances most of the time', (name) => {
    const space = loadSpace(name);
    const without = [...assignments(space, toOriginal(gpuModel))].map(({ instances: _, ...rest }) =>
      canonicalJson(rest),
    );
    const reloads = without.filter((text, index) => text !== without[index - 1]).length;
    expect(reloads).toBe(new Set(without).size);
  });

  it('of the dearest parameter change least', () => {
    const arms = [...assignments(loadSpace('onnxruntime'), toOriginal(gpuModel))].map((one) => one.tensorrt_precision);
    expect(arms.filter((arm, index) => arm !== arms[index - 1])).toEqual(['none', 'FP32', 'FP16']);
  });

  it('of a space without parameters are none', () => {
    expect([...assignments(spaceOf('name: empty'), toOriginal(cpuModel))]).toEqual([]);
    expect(spaceSize(spaceOf('name: empty'), toOriginal(cpuModel))).toBe(0);
  });

  it('are not counted when there are too many', () => {
    const wide = Array.from({ length: 6 }, (_, index) => `  parameters.p${index}: { range: [1, 10] }`).join('\n');
    expect(spaceSize(spaceOf(`parameters:\n${wide}`), toOriginal(cpuModel))).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('sampleAssignment', () => {
  it('gives assignments of the enumeration, and the same for the same seed', () => {
    fc.assert(
      fc.property(spaces, fc.integer(), (space, seed) => {
        const texts = new Set(textsOf(space));
        fc.pre(texts.size > 0);
        const drawn = sampleAssignment(space, toOriginal(cpuModel), seededRandom(seed));
        expect(texts).toContain(canonicalJson(drawn));
        expect(sampleAssignment(space, toOriginal(cpuModel), seededRandom(seed))).toEqual(drawn);
      }),
      { numRuns: 60 },
    );
  });

  it('gives each the same chance, whatever hangs on its values', () => {
    const space = spaceOf(`
parameters:
  dynamic_batching: [off, on]
  queue_delay_us: { values: [0, 1, 2, 3, 4], when: { dynamic_batching: on } }
  instances: [1, 2]
rules:
  - { require: instances < 2 or queue_delay_us != 4, message: no }
`);
    const texts = textsOf(space);
    expect(texts).toHaveLength(11); // off: the rule has no delay to look at
    const random = seededRandom(7);
    const counts = new Map(texts.map((text) => [text, 0]));
    const draws = 10_000;
    for (let draw = 0; draw < draws; draw += 1) {
      const text = canonicalJson(sampleAssignment(space, toOriginal(cpuModel), random));
      counts.set(text, (counts.get(text) ?? 0) + 1);
    }
    // Pearson's chi-squared statistic with 10 degrees of freedom; 29.6 is exceeded with probability
    // 0.001.
    const expected = draws / texts.length;
    const chiSquared = [...counts.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
    expect(chiSquared).toBeLessThan(29.6);
  });

  it('finds the one legal assignment among many', () => {
    const wide = Array.from({ length: 4 }, (_, index) => `  parameters.p${index}: { range: [1, 12] }`).join('\n');
    const rule = 'parameters.p0 * parameters.p1 * parameters.p2 * parameters.p3 >= 20736';
    const space = spaceOf(`parameters:\n${wide}\nrules:\n  - { require: "${rule}", message: too little }`);
    const only = { 'parameters.p0': 12, 'parameters.p1': 12, 'parameters.p2': 12, 'parameters.p3': 12 };
    expect(sampleAssignment(space, toOriginal(cpuModel), seededRandom(1))).toEqual(only);
  });

  it('says so when nothing is legal', () => {
    const space = spaceOf('parameters: { instances: [1, 2] }\nrules: [{ require: instances > 2, message: no }]');
    expect(() => sampleAssignment(space, toOriginal(cpuModel), seededRandom(1))).toThrow(/has no valid candidate/);
  });
});
