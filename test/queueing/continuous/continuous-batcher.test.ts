import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ContinuousBatcher } from '#queueing/continuous/continuous-batcher.ts';
import type { ContinuousPolicy } from '#queueing/continuous/policy.ts';
import type { EngineStep } from '#queueing/continuous/step.ts';
import type { StepLaw } from '#queueing/continuous/step-law.ts';
import { stretchNs } from '#queueing/continuous/stretch.ts';
import { NaiveEngine } from './naive-engine.ts';

const law: StepLaw = {
  baseNs: 1000,
  floorNs: 500,
  prefillBaseNs: 0,
  perPrefillTokenNs: 10,
  perDecodingNs: 20,
  perContextTokenNs: 0.5,
  perPrefillPairNs: 0.01,
  cv: 0,
};
const policy = (changes: Partial<ContinuousPolicy> = {}): ContinuousPolicy => ({
  maxSequences: 8,
  maxStepTokens: 64,
  chunksPrefill: true,
  kvCacheTokens: null,
  cachesPrefixes: false,
  ...changes,
});
const sorted = (ids: readonly number[]): number[] => [...ids].sort((a, b) => a - b);

/** Takes steps to the end of all sequences. */
function stepsOf(batcher: ContinuousBatcher): EngineStep[] {
  const steps: EngineStep[] = [];
  for (let nowNs = 0; ; ) {
    const step = batcher.step(nowNs);
    if (!step) return steps;
    nowNs = step.endNs;
    steps.push({ ...step, emitted: sorted(step.emitted), finished: sorted(step.finished) });
  }
}

describe('an engine without pressure', () => {
  it('computes a prompt in chunks beside sequences that decode, and gives its first token with the last chunk', () => {
    const batcher = new ContinuousBatcher(policy(), law);
    batcher.enqueue({ inputTokens: 10, outputTokens: 6 });
    batcher.enqueue({ inputTokens: 150, outputTokens: 2 });
    const steps = stepsOf(batcher);
    expect(steps.map(({ work }) => [work.prefillTokens, work.decoding, work.contextTokens])).toEqual([
      [64, 0, 0],
      [63, 1, 11],
      [33, 1, 12],
      [0, 2, 13 + 151],
      [0, 1, 14],
      [0, 1, 15],
    ]);
    expect(steps.map(({ emitted }) => emitted)).toEqual([[0], [0], [0, 1], [0, 1], [0], [0]]);
    expect(steps.map(({ first }) => first)).toEqual([[0], [], [1], [], [], []]);
    expect(steps.map(({ finished }) => finished)).toEqual([[], [], [], [1], [], [0]]);
    expect(steps[1]?.durationNs).toBe(1000 + (63 * 10 + 20) + 0.5 * 11 + 0.01 * 63 * (54 + 63 / 2));
    expect(steps[5]?.durationNs).toBe(1000 + 500 + 0.5 * 15);
  });

  it('lets whole prompts go before decoding without chunks and mixed steps, as many as a step has tokens for', () => {
    const batcher = new ContinuousBatcher(policy({ chunksPrefill: false, mixesPrefill: false }), law);
    for (const inputTokens of [100, 30, 30, 30]) batcher.enqueue({ inputTokens, outputTokens: 2 });
    const steps = stepsOf(batcher);
    expect(steps.map(({ work }) => [work.prefillTokens, work.decoding])).toEqual([
      [100, 0],
      [60, 0],
      [30, 0],
      [0, 4],
    ]);
    expect(steps.map(({ emitted }) => emitted)).toEqual([[0], [1, 2], [3], [0, 1, 2, 3]]);
  });

  it('computes whole prompts beside sequences that decode without chunks, if the step has tokens for both', () => {
    const batcher = new ContinuousBatcher(policy({ chunksPrefill: false }), law);
    for (const inputTokens of [100, 30, 30, 70]) batcher.enqueue({ inputTokens, outputTokens: 3 });
    const steps = stepsOf(batcher);
    expect(steps.map(({ work }) => [work.prefillTokens, work.decoding])).toEqual([
      [100, 0],
      [60, 1],
      [0, 3],
      [0, 2],
      [70, 0],
      [0, 1],
      [0, 1],
    ]);
    expect(steps.map(({ first }) => first)).toEqual([[0], [1, 2], [], [], [3], [], []]);
  });

  it('takes longer for a step with tokens of prompts, whatever their number', () => {
    const durations = (prefillBaseNs: number): number[] => {
      const batcher = new ContinuousBatcher(policy(), { ...law, prefillBaseNs });
      for (const inputTokens of [100, 20]) batcher.enqueue({ inputTokens, outputTokens: 2 });
      return stepsOf(batcher).map(({ durationNs }) => durationNs);
    };
    const without = durations(0);
    expect(durations(700).map((ns, step) => ns - (without[step] as number))).toEqual([700, 700, 0]);
  });

  it('admits nothing while a static batch runs, whose prompts share the tokens of steps', () => {
    const batcher = new ContinuousBatcher(policy({ isStatic: true, maxSequences: 2 }), law);
    for (const outputTokens of [2, 4, 2]) batcher.enqueue({ inputTokens: 50, outputTokens });
    const steps = stepsOf(batcher);
    expect(steps.map(({ admitted }) => admitted.map(({ id }) => id))).toEqual([[0, 1], [], [], [], [], [2], []]);
    expect(steps.map(({ work }) => [work.prefillTokens, work.decoding])).toEqual([
      [64, 0],
      [36, 1],
      [0, 1],
      [0, 1],
      [0, 1],
      [50, 0],
      [0, 1],
    ]);
    const whole = new ContinuousBatcher(policy({ isStatic: true, chunksPrefill: false }), law);
    for (const outputTokens of [1, 3, 3]) whole.enqueue({ inputTokens: 30, outputTokens });
    expect(stepsOf(whole).map(({ admitted }) => admitted.map(({ id }) => id))).toEqual([[0, 1], [], [], [2], [], []]);
  });

  it('runs no more sequences than the policy allows, nor than a step has tokens', () => {
    for (const [changes, most] of [
      [{ maxSequences: 3 }, 3],
      [{ maxStepTokens: 2 }, 2],
    ] as const) {
      const batcher = new ContinuousBatcher(policy(changes), law);
      for (let count = 0; count < 9; count++) batcher.enqueue({ inputTokens: 4, outputTokens: 5 });
      let seen = 0;
      while (batcher.step(0)) seen = Math.max(seen, batcher.running);
      expect(seen).toBe(most);
    }
  });

  it('takes out a cancelled sequence wherever it is', () => {
    const batcher = new ContinuousBatcher(policy({ maxSequences: 2, kvCacheTokens: 1000 }), law);
    for (let count = 0; count < 4; count++) batcher.enqueue({ inputTokens: 100, outputTokens: 50 });
    batcher.step(0);
    batcher.step(0);
    batcher.cancel(3);
    batcher.cancel(0);
    batcher.cancel(0);
    expect([batcher.running, batcher.waiting]).toEqual([1, 1]);
    expect(stepsOf(batcher).flatMap(({ finished }) => finished)).toEqual([1, 2]);
    expect(batcher.kvCacheShare).toBe(0);
  });

  it('refuses what could never run', () => {
    expect(() => new ContinuousBatcher(policy({ maxSequences: 0 }), law)).toThrow(/maxSequences 0/);
    const batcher = new ContinuousBatcher(policy({ kvCacheTokens: 100 }), law);
    expect(() => batcher.enqueue({ inputTokens: 90, outputTokens: 20 })).toThrow(/KV cache of 100/);
    expect(() => batcher.enqueue({ inputTokens: 0, outputTokens: 20 })).toThrow(/inputTokens 0/);
    const prefix = { id: 'a', tokens: 11 };
    expect(() => batcher.enqueue({ inputTokens: 10, outputTokens: 20, prefix })).toThrow(/prefix of 11/);
  });
});

describe('a full KV cache', () => {
  it('takes the place of the sequence that was admitted last, which computes its tokens again', () => {
    const batcher = new ContinuousBatcher(policy({ kvCacheTokens: 50 }), law);
    batcher.enqueue({ inputTokens: 20, outputTokens: 20 });
    batcher.enqueue({ inputTokens: 20, outputTokens: 20 });
    const steps = stepsOf(batcher);
    const at = steps.findIndex(({ preempted }) => preempted.length > 0);
    // Both have 25 tokens after the first step and five more.
    expect(at).toBe(6);
    expect(steps[at]?.preempted).toEqual([1]);
    const again = steps.find(({ admitted }, index) => index > 0 && admitted.length > 0);
    expect(again?.work.prefillTokens).toBe(26);
    expect(steps.filter(({ emitted }) => emitted.includes(1))).toHaveLength(20);
    expect(steps.flatMap(({ first }) => first)).toEqual([0, 1]);
    expect([batcher.preemptions, batcher.kvCacheShare]).toEqual([1, 0]);
  });
});

describe('a prefix cache', () => {
  const prefix = { id: 'system', tokens: 40 };
  const sequence = { inputTokens: 50, outputTokens: 3, prefix };

  it('spares a prompt what another one has computed, and counts its place once', () => {
    const batcher = new ContinuousBatcher(policy({ kvCacheTokens: 200, cachesPrefixes: true }), law);
    batcher.enqueue(sequence);
    expect(batcher.step(0)?.admitted).toEqual([{ id: 0, cachedTokens: 0 }]);
    batcher.enqueue(sequence);
    const second = batcher.step(0);
    expect(second?.admitted).toEqual([{ id: 1, cachedTokens: 40 }]);
    expect(second?.work.prefillTokens).toBe(10);
    expect(batcher.kvCacheShare * 200).toBeCloseTo(40 + 11 + 10);
    stepsOf(batcher);
    expect(batcher.kvCacheShare).toBe(0);
    batcher.enqueue({ ...sequence, inputTokens: 40 });
    expect(batcher.step(0)?.work.prefillTokens).toBe(1);
  });

  it('forgets a prefix that nobody uses when its place is needed', () => {
    const batcher = new ContinuousBatcher(policy({ kvCacheTokens: 100, cachesPrefixes: true }), law);
    batcher.enqueue(sequence);
    stepsOf(batcher);
    batcher.enqueue({ inputTokens: 90, outputTokens: 3 });
    stepsOf(batcher);
    batcher.enqueue(sequence);
    expect(batcher.step(0)?.admitted).toEqual([{ id: 2, cachedTokens: 0 }]);
  });

  it('is not there under a policy without one', () => {
    const batcher = new ContinuousBatcher(policy(), law);
    batcher.enqueue({ ...sequence, cachedTokens: 30 });
    stepsOf(batcher);
    batcher.enqueue(sequence);
    expect(batcher.step(0)?.admitted).toEqual([{ id: 1, cachedTokens: 0 }]);
  });
});

const cases = fc.record({
  maxSequences: fc.integer({ min: 1, max: 6 }),
  maxStepTokens: fc.option(fc.integer({ min: 1, max: 40 })),
  kvCacheTokens: fc.option(fc.integer({ min: 60, max: 150 })),
  sequences: fc.array(
    fc.record({
      inputTokens: fc.integer({ min: 1, max: 30 }),
      outputTokens: fc.integer({ min: 1, max: 30 }),
      before: fc.integer({ min: 0, max: 12 }),
    }),
    { minLength: 1, maxLength: 20 },
  ),
});

describe('whatever the policy and the sequences', () => {
  it('does in every step what a scheduler written token by token does', () => {
    fc.assert(
      fc.property(cases, ({ sequences, ...changes }) => {
        const batcher = new ContinuousBatcher(policy(changes), law);
        const naive = new NaiveEngine(policy(changes));
        for (const { before, ...sequence } of sequences) {
          expect(naive.enqueue(sequence)).toBe(batcher.enqueue(sequence));
          for (let count = 0; count < before; count++) check(batcher, naive, changes.kvCacheTokens);
        }
        for (let left = 5000; check(batcher, naive, changes.kvCacheTokens); left--) expect(left).toBeGreaterThan(0);
      }),
      { numRuns: 120 },
    );
  });

  it('takes stretches of decoding as it would take their steps', () => {
    fc.assert(
      fc.property(cases, fc.integer({ min: 1, max: 30_000 }), ({ sequences, ...changes }, spanNs) => {
        const [fast, slow] = [new ContinuousBatcher(policy(changes), law), new ContinuousBatcher(policy(changes), law)];
        for (const { before: _, ...sequence } of sequences) {
          fast.enqueue(sequence);
          slow.enqueue(sequence);
        }
        for (;;) {
          const stretch = fast.decodeStretch(spanNs);
          if (stretch) {
            let [sumNs, lastNs] = [0, 0];
            for (let count = 0; count < stretch.steps; count++) {
              const step = slow.step(0);
              lastNs = step?.durationNs ?? 0;
              sumNs += lastNs;
              expect([step?.emitted.length, step?.finished, step?.admitted, step?.preempted]).toEqual([
                stretch.sequences,
                [],
                [],
                [],
              ]);
            }
            expect(stretchNs(stretch, stretch.steps) / sumNs).toBeCloseTo(1, 9);
            expect(sumNs - lastNs).toBeLessThan(spanNs);
          }
          const [one, other] = [fast.step(0), slow.step(0)];
          expect(one && { ...one, emitted: one.emitted }).toEqual(other && { ...other, emitted: other.emitted });
          if (!one) break;
        }
      }),
      { numRuns: 100 },
    );
  });
});

/** Takes a step of both and compares them; false when there was none. */
function check(batcher: ContinuousBatcher, naive: NaiveEngine, kvCacheTokens: number | null): boolean {
  const [step, expected] = [batcher.step(0), naive.step()];
  expect(step?.work ?? null).toEqual(expected?.work ?? null);
  if (!step || !expected) return false;
  expect(sorted(step.emitted)).toEqual(sorted(expected.emitted));
  expect(sorted(step.finished)).toEqual(sorted(expected.finished));
  expect(step.preempted).toEqual(expected.preempted);
  if (kvCacheTokens !== null) expect(batcher.kvCacheShare * kvCacheTokens).toBeCloseTo(expected.kvTokens, 6);
  return true;
}
