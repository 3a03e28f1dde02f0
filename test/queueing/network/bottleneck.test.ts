import { describe, expect, it } from 'vitest';
import { findBottleneck, oneMoreInstance } from '#queueing/network/bottleneck.ts';
import type { Network } from '#queueing/network/types.ts';
import { chain, closed, plain, rate, relative, run } from './builders.ts';

const options = { warmUpRequests: 200, requests: 2000, seed: 1 };
const found = (network: Network) => {
  const effects = oneMoreInstance(network, options);
  return { effects, bottleneck: findBottleneck(run(network), effects) };
};
const pipeline = (concurrency: number, ...instances: number[]): Network => ({
  stages: [plain('a', 2, { instances: instances[0] ?? 1 }), plain('b', 6, { instances: instances[1] ?? 2 })],
  fronts: [closed('f', chain('a', 'b'), concurrency)],
});

describe('the bottleneck', () => {
  it('is the stage of which one more instance lets more through, by as much as another simulation has it', () => {
    const { effects, bottleneck } = found(pipeline(16));
    expect(bottleneck).toEqual({ kind: 'stage', name: 'b' });
    expect(effects.map(({ stage }) => stage)).toEqual(['b', 'a']);
    // b lets 333 through with two instances; with three a, which lets 500 through, holds back as
    // well.
    expect(effects[0]?.gain).toBeCloseTo(1.5, 1);
    expect(effects[1]?.gain).toBeCloseTo(1, 2);
    const more = run(pipeline(16, 1, 3));
    expect(effects[0]?.simulation).toEqual(more);
    expect(effects.map(({ utilization }) => Math.round(100 * utilization))).toEqual([100, 67]);
  });

  it('is none where the clients send too little', () => {
    expect(found(pipeline(1)).bottleneck).toEqual({ kind: 'none' });
  });

  it('is the device where instances only wait for each other', () => {
    const gpu = { device: { name: 'gpu', share: 1 } };
    const network = {
      stages: [plain('a', 2, gpu), plain('b', 3, gpu)],
      devices: [{ name: 'gpu', interference: 0, atOnce: 1 }],
      fronts: [closed('f', chain('a', 'b'), 8)],
    };
    const { effects, bottleneck } = found(network);
    expect(bottleneck).toEqual({ kind: 'device', name: 'gpu' });
    for (const { gain } of effects) expect(relative(gain, 1)).toBeLessThan(0.02);
  });

  it('is found for an open loop by the waiting that it ends', () => {
    const network = { ...pipeline(1), fronts: [rate('f', chain('a', 'b'), 300, 'poisson')] };
    const { effects, bottleneck } = found(network);
    expect(bottleneck).toEqual({ kind: 'stage', name: 'b' });
    expect(effects[0]?.gain).toBeGreaterThan(1.5);
  });

  it('is the caller where its instances wait for what they call, busy as the called ones may be', () => {
    const calls = [{ steps: chain('crop'), inParallel: false }];
    const network = {
      stages: [plain('bls', 1, { instances: 2, calls }), plain('crop', 4, { instances: 2 })],
      fronts: [closed('f', chain('bls'), 16)],
    };
    const { effects, bottleneck } = found(network);
    expect(bottleneck).toEqual({ kind: 'stage', name: 'bls' });
    // Two callers keep 1.6 of the two called instances busy; three keep both.
    expect(effects[0]?.gain).toBeCloseTo(1.25, 1);
  });
});
