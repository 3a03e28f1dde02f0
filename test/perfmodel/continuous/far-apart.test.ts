import { expect, it } from 'vitest';
import { farApart } from '#perfmodel/continuous/fit-law.ts';
import type { TokenObservation } from '#perfmodel/continuous/observed-traffic.ts';
import { toChoice } from '#perfmodel/modelled-config.ts';
import { engineCandidate } from '../../../lab/engines/engine-space.ts';
import { engineAt } from '../../../lab/engines/engines.ts';

const engine = engineAt(3);

const observation = (max_num_seqs: number, max_num_batched_tokens: number, level: number) =>
  ({
    choice: toChoice(engineCandidate(engine, { ...engine.original, max_num_seqs, max_num_batched_tokens })),
    measurement: { level: { mode: 'concurrency', value: level } },
  }) as unknown as TokenObservation;

it('picks the first observation, then the ones that differ most from those picked', () => {
  const alike = [observation(4, 64, 8), observation(4, 128, 8), observation(4, 64, 8)];
  const [small, large] = [observation(1, 64, 8), observation(16, 512, 48)];
  const all = [...alike, small, large];
  expect(farApart(all, 3)).toEqual([alike[0], large, small]);
  expect(farApart(all, 4)).toEqual([alike[0], large, small, alike[1]]);
  expect(farApart(all, 5)).toBe(all);
});
