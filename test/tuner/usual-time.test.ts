import { describe, expect, it } from 'vitest';
import type { Pace, Sampler } from '#study/types.ts';
import type { TunePlan } from '#tuner/run.ts';
import { play } from './world.ts';

/** Goes on while the pace is one of these. */
function searcher(...goesOn: readonly (Pace | undefined)[]): {
  readonly sampler: Sampler;
  readonly told: Set<unknown>;
} {
  const told = new Set<unknown>();
  const sampler: Sampler = {
    ask: ({ trials }, { pace }) => {
      told.add(pace);
      if (!goesOn.includes(pace)) return { kind: 'stop', reason: 'little is to be gained' };
      const [batch, count] = [[1, 4, 8][trials.length % 3] as number, 1 + (trials.length % 4)];
      return { kind: 'trial', assignment: { batch, count }, levels: { kind: 'search' }, expectedGain: 0.123 };
    },
  };
  return { sampler, told };
}

const usual = (seconds: number, isAim = true, ofLoads = { loads: 0, loadSeconds: 0 }): Partial<TunePlan> => ({
  finalRounds: 2,
  maxTrials: 200,
  usual: { seconds, isAim, ...ofLoads },
});

describe('a run of which it is known what such runs take', () => {
  it.each<[number, string, readonly (Pace | undefined)[]]>([
    [150, 'that goes on while it is early', ['early']],
    [300, 'that goes on while it is early', ['early']],
    [150, 'that ends only when it is late', ['early', undefined]],
    [300, 'that ends only when it is late', ['early', undefined]],
  ])('takes about these %d s with a sampler %s, the final included', async (seconds, _, goesOn) => {
    const { sampler } = searcher(...goesOn);
    const { state } = await play({ plan: usual(seconds), parts: { sampler } });
    expect(state?.finished?.wallSeconds).toBeGreaterThan(0.7 * seconds);
    expect(state?.finished?.wallSeconds).toBeLessThan(1.3 * seconds);
    expect(state?.gain).not.toBeNull();
  });

  it('takes less where loads turn out to be faster than was thought', async () => {
    const takes = async (loadSeconds: number): Promise<number> => {
      const { sampler } = searcher('early');
      const { state } = await play({ plan: usual(150, true, { loads: 20, loadSeconds }), parts: { sampler } });
      return state?.finished?.wallSeconds ?? Number.NaN;
    };
    const [asThought, faster] = [await takes(1), await takes(5)];
    expect(faster).toBeLessThan(0.7 * asThought);
    expect(faster).toBeGreaterThan(0.3 * asThought);
  });

  it('says so when it sees that', async () => {
    const told = async (loadSeconds: number): Promise<readonly (number | null)[]> => {
      const { sampler } = searcher('early');
      const { events } = await play({ plan: usual(150, true, { loads: 20, loadSeconds }), parts: { sampler } });
      return events.flatMap((event) => (event.type === 'limits' ? [event.usualSeconds] : []));
    };
    const asThought = await told(1);
    const faster = await told(5);
    expect([asThought[0], faster[0]]).toEqual([150, 150]);
    expect(asThought.at(-1)).toBeGreaterThan(0.9 * 150);
    expect(faster.at(-1)).toBeLessThan(0.6 * 150);
  });

  it('takes longer where the sampler finds that worth it', async () => {
    const { sampler } = searcher('early', undefined, 'late');
    const { state } = await play({ plan: { ...usual(50), maxTrials: 60 }, parts: { sampler } });
    expect(state?.finished).toMatchObject({
      stopReason: 'the limit of 60 trials was reached',
      notes: ['another trial was expected to gain 12.3 %'],
    });
  });

  it('is never late where the user has named a limit', async () => {
    const { sampler, told } = searcher('early', undefined, 'late');
    await play({ plan: { ...usual(50, false), maxTrials: 60 }, parts: { sampler } });
    expect(told).toEqual(new Set(['early', undefined]));
  });

  it('says nothing of the pace where it is not known', async () => {
    const { sampler, told } = searcher(undefined);
    await play({ plan: { maxTrials: 20 }, parts: { sampler } });
    expect(told).toEqual(new Set([undefined]));
  });
});
