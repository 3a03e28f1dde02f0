import { expect, it } from 'vitest';
import { toChoice } from '#perfmodel/modelled-config.ts';
import type { Candidate } from '#space/types.ts';
import { fitLoadTime, type ObservedLoad } from '#study/search/queueing/load-times.ts';
import { fitTrialCost } from '#study/search/queueing/trial-cost.ts';
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

const load = (precision: string, instances: number, seconds: number, before: object | null = null): ObservedLoad => ({
  assignment: { precision, instances, delay: 100 },
  before: before as ObservedLoad['before'],
  seconds,
});

it('learns which settings make a load slow', () => {
  const loads = [
    load('none', 1, 0.4),
    load('FP32', 1, 45),
    load('none', 2, 0.5),
    load('FP16', 2, 60),
    load('none', 4, 0.4),
  ];
  const seconds = fitLoadTime(loads, 2, []);
  expect(seconds({ precision: 'none', instances: 8, delay: 0 }, null)).toBeCloseTo(0.43, 1);
  expect(seconds({ precision: 'FP16', instances: 1, delay: 100 }, null)).toBeGreaterThan(50);
  expect(seconds({ precision: 'FP32', instances: 4, delay: 100 }, null)).toBeGreaterThan(40);
  // Nothing is known of it but what loads take.
  expect(seconds({ precision: 'INT8', instances: 1, delay: 100 }, null)).toBeCloseTo(21.26, 1);
});

it('takes loads that vary by chance for the same', () => {
  const loads = [load('none', 1, 2), load('FP16', 1, 2.4), load('none', 2, 2.2), load('FP16', 2, 1.9)];
  const seconds = fitLoadTime(loads, 2, []);
  for (const precision of ['none', 'FP16', 'INT8'])
    expect(seconds({ precision, instances: 1, delay: 100 }, null)).toBeCloseTo(2.1, 0);
});

it('takes a parameter at its word that a change of it is slow, until a load shows it', () => {
  const [fp32, fp16] = [{ precision: 'fp32' }, { precision: 'fp16' }];
  const unseen = fitLoadTime([load('fp32', 1, 2, fp32)], 2, ['precision']);
  expect(unseen({ precision: 'fp32', instances: 2 }, fp32)).toBeCloseTo(2);
  expect(unseen({ precision: 'fp16', instances: 2 }, fp32)).toBe(60);
  // Builds an engine whenever the precision changes, in either direction.
  const loads = [
    load('fp32', 1, 2, fp32),
    load('fp16', 1, 20, fp32),
    load('fp16', 2, 2.1, fp16),
    load('fp32', 2, 19, fp16),
  ];
  const seen = fitLoadTime(loads, 2, ['precision']);
  expect(seen({ precision: 'fp16', instances: 4 }, fp32)).toBeGreaterThan(15);
  expect(seen({ precision: 'fp16', instances: 4 }, fp16)).toBeLessThan(3);
});

it('learns that an engine is built once', () => {
  const seconds = fitLoadTime(
    [load('FP16', 1, 60, {}), load('FP16', 2, 0.5), load('FP16', 4, 0.4), load('FP32', 4, 45), load('FP16', 1, 0.5)],
    2,
    ['precision'],
  );
  expect(seconds({ precision: 'FP32', instances: 1, delay: 100 }, { precision: 'FP16' })).toBeLessThan(1);
  expect(seconds({ precision: 'INT8', instances: 1, delay: 100 }, { precision: 'FP16' })).toBeGreaterThan(40);
});
