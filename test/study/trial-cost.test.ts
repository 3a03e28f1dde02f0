import { expect, it } from 'vitest';
import { toChoice } from '../../src/perfmodel/modelled-config.ts';
import type { Candidate } from '../../src/space/types.ts';
import { fitTrialCost } from '../../src/study/search/queueing/trial-cost.ts';
import { configOf, toCandidate, trialOf } from './builders.ts';

const madeOf = (key: string, instances: number): Candidate => {
  const plain = toCandidate(configOf(instances, 4, { parameters: { tritune_variant: { string_value: key } } }));
  return { ...plain, shape: { ...plain.shape, preparation: { key, name: key, seconds: 90 } } };
};

const served = toCandidate(configOf(1, 4));
const baseline = trialOf(0, configOf(1, 4), { applied: { change: 'none', loadMs: 0 } });

it('counts what has to be built until a trial has built it, or has tried to', () => {
  const before = fitTrialCost([baseline]);
  expect(before.changeSeconds(toChoice(madeOf('int8', 2)), served)).toBe(92);
  expect(before.changeSeconds(toChoice(toCandidate(configOf(1, 8))), served)).toBe(2);
  const built = { ...baseline, number: 1, candidate: madeOf('int8', 1) };
  const after = fitTrialCost([baseline, built]);
  expect(after.changeSeconds(toChoice(madeOf('int8', 2)), served)).toBe(2);
  expect(after.changeSeconds(toChoice(madeOf('fp16', 2)), served)).toBe(92);
});

it('does not take a build for what a load takes', () => {
  const built = trialOf(1, configOf(1, 8), { applied: { change: 'full', loadMs: 500, buildMs: 60_000 } });
  expect(fitTrialCost([baseline, built]).changeSeconds(toChoice(toCandidate(configOf(1, 16))), served)).toBe(0.5);
});
