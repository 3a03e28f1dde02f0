import { describe, expect, it } from 'vitest';
import { ensemblesIn, listParts, readTopology } from '#space/joint/topology-of.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { cpuModel } from '../fixtures.ts';

const alone = (name: string): ModelConfig => ({ ...cpuModel, name });

/** Steps as `model: inputs → outputs`. */
function ensemble(name: string, given: readonly string[], steps: readonly string[]): ModelConfig {
  const maps = (text: string) => Object.fromEntries(text.split(' ').map((tensor) => [tensor.toUpperCase(), tensor]));
  return {
    name,
    platform: 'ensemble',
    max_batch_size: 8,
    input: given.map((tensor) => ({ name: tensor, data_type: 'TYPE_FP32', dims: [1] })),
    ensemble_scheduling: {
      step: steps.map((step) => {
        const [, model_name, needs = '', gives = ''] = /^(\w+): (.+) → (.+)$/.exec(step) ?? [];
        return { model_name, input_map: maps(needs), output_map: maps(gives) };
      }),
    },
  } as ModelConfig;
}

const configs = {
  a: alone('a'),
  b: alone('b'),
  c: alone('c'),
  d: alone('d'),
  // Not in the order of its tensors.
  inner: ensemble('inner', ['x'], ['c: y → z', 'b: x → y']),
  outer: ensemble('outer', ['in'], ['a: in → x', 'inner: x → p', 'd: x → q', 'a: p q → out']),
};

describe('a topology', () => {
  it('has the steps of an ensemble as its tensors say, nested as they are', () => {
    const { fronts, stages, calls } = readTopology({ fronts: [{ model: 'outer' }], calls: {} }, configs);
    expect(fronts).toEqual([
      {
        model: 'outer',
        steps: [
          { stage: 'a', after: [] },
          {
            steps: [
              { stage: 'b', after: [] },
              { stage: 'c', after: [0] },
            ],
            after: [0],
          },
          { stage: 'd', after: [0] },
          { stage: 'a', after: [1, 2] },
        ],
      },
    ]);
    expect(stages).toEqual(['a', 'b', 'c', 'd']);
    expect(calls).toBeUndefined();
    expect(ensemblesIn(configs)).toEqual(['inner', 'outer']);
  });

  it('has what a BLS model calls behind it, and the stages of an ensemble that it calls', () => {
    const asked = { fronts: [{ model: 'd' }], calls: { d: ['a', 'inner'] } };
    expect(readTopology(asked, configs)).toEqual({
      fronts: [{ model: 'd', steps: [{ stage: 'd' }] }],
      stages: ['d', 'a', 'b', 'c'],
      calls: { d: ['a', 'b', 'c'] },
    });
    expect(listParts(configs.d, 'd', asked)).toEqual(['a', 'inner']);
    expect(() => readTopology({ fronts: [{ model: 'a' }], calls: { d: ['b'] } }, configs)).toThrow(
      /'d' is not in this study/,
    );
  });

  it('has a front for each co-located model, with its part of the level', () => {
    const fronts = [{ model: 'a', share: 3 }, { model: 'inner' }, { model: 'd', requestsPerSecond: 40 }];
    const topology = readTopology({ fronts, calls: {} }, configs);
    expect(topology.fronts.map(({ steps, ...front }) => front)).toEqual(fronts);
    expect(topology.stages).toEqual(['a', 'b', 'c', 'd']);
  });
});
