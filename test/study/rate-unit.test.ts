import { expect, it } from 'vitest';
import { chooseRateUnit, servedRateHead } from '#study/summary/rate-unit.ts';

it.each([
  ['tensors', {}, 'infer/s'],
  ['tokens', { tokens: {} }, 'requests/s'],
  ['plain HTTP', { replies: {} }, 'requests/s'],
  ['several texts in a request', { replies: { batch: 4 } }, 'infer/s'],
  ['a point of the summary', { rateUnit: 'requests/s' as const }, 'requests/s'],
  ['plain HTTP under workloads', { workloads: [{ replies: {} }] }, 'requests/s'],
  ['tensors under workloads', { workloads: [{}] }, 'infer/s'],
  ['a point under workloads', { workloads: { steady: {} } }, 'infer/s'],
])('the unit of %s', (_, measurement, unit) => {
  expect(chooseRateUnit(measurement)).toBe(unit);
});

it('does not call two columns of a table the same', () => {
  expect(servedRateHead({ replies: {} })).toBe('served/s');
});
