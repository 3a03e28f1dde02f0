import { expect, it } from 'vitest';
import { simulateEngine } from '#perfmodel/continuous/simulate-engine.ts';
import type { EngineLaw } from '#perfmodel/continuous/step-law-parameters.ts';
import { toChoice } from '#perfmodel/modelled-config.ts';
import type { SequenceLengths } from '#queueing/continuous/lengths.ts';
import { engineCandidate } from '../../../lab/engines/engine-space.ts';
import { engineAt } from '../../../lab/engines/engines.ts';

const always = (tokens: number) => ({ mean: tokens, std: 0, min: tokens, max: tokens });
const lengths: SequenceLengths = { input: always(100), output: always(11), cachedShare: 0 };
const law: EngineLaw = {
  baseNs: 2e6,
  floorNs: 3e6,
  prefillBaseNs: 0,
  perPrefillTokenNs: 1e5,
  perDecodingNs: 2e5,
  perContextTokenNs: 0,
  perPrefillPairNs: 0,
  cv: 0,
  roundTripNs: 1e6,
  isStatic: false,
};

it('requests that are answered together do not come back at one instant: the first has a step of its own', () => {
  const engine = engineAt(0);
  const choice = toChoice(
    engineCandidate(engine, { ...engine.original, max_num_seqs: 4, max_num_batched_tokens: 4096 }),
  );
  const simulated = (roundTripNs: number) =>
    simulateEngine(choice, { mode: 'concurrency', value: 4 }, { ...law, roundTripNs }, lengths, {
      seed: 1,
      requests: 40,
    });
  // Three prompts of 100 tokens come between the first one's tokens; or all four at once, between
  // nobody's.
  const [apart, together] = [simulated(1e6), simulated(0)];
  expect((apart?.itl.quantileNs(0.99) ?? 0) / (2e6 + 300 * 1e5 + 2e5)).toBeCloseTo(1, 1);
  expect((together?.itl.quantileNs(0.99) ?? 0) / 5e6).toBeCloseTo(1, 1);
  const first = Math.min(...(apart?.ttftNs ?? []));
  // The wait for the others' last step, then its own prompt.
  expect(first).toBeLessThan(1e6 + 5e6 + 12e6 + 1e6);
});
