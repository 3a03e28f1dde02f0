import { expect, it } from 'vitest';
import { z } from 'zod';
import { describeFaults } from '#base/schema-faults.ts';
import { spaceFromJson } from '#space/source/load.ts';
import { checkStudySpec } from '#spec/study-spec.ts';

it('names every fault with its path, five of them in full', () => {
  const numbers = z.strictObject(Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => [name, z.number()])));
  const faultsOf = (value: unknown): string =>
    describeFaults(numbers.safeParse(value).error?.issues ?? [], 'all of it');
  expect(faultsOf({ a: 1, b: 1, c: 1, d: 'x', e: 1, f: 'y' })).toMatch(/^d: [^;]* string; f: [^;]* string$/);
  expect(faultsOf({})).toMatch(/^a: .*; e: [^;]*; and 1 more$/);
  expect(faultsOf(3)).toMatch(/^all of it: /);
});

it('is how readers tell what is wrong in a file', () => {
  const study = { model: 3, goal: { percentile: 'x' } };
  expect(() => checkStudySpec(study, 'study.yaml')).toThrow(/model: .*; goal\.percentile: /);
  const space = { name: 3, parameters: { instances: { values: 'nope' } }, foo: 1 };
  expect(() => spaceFromJson(space)).toThrow(/name: .* \(also parameters\.instances\.values: .*; foo: /);
});
