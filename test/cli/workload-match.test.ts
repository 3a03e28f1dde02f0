import { describe, expect, it } from 'vitest';
import { fromLogTable } from '#cli/commands/workload-options.ts';

const pattern = (text: string) => (fromLogTable.match.parse as (text: string) => { test(text: string): boolean })(text);

describe('--match', () => {
  it('finds a part of a text', () => {
    expect(pattern('^/v2/models/(resnet|bert)/').test('/v2/models/bert/infer')).toBe(true);
    expect(pattern('^/v2/models/(resnet|bert)/').test('/v2/models/bart/infer')).toBe(false);
  });

  // An engine that backtracks needs 2^100000 steps: the test would not end.
  it.each(['^(a+)+$', '^(a|aa)+$', '(.*a){20}c'])('takes linear time for %s', (text) => {
    expect(pattern(text).test(`${'a'.repeat(100_000)}b`)).toBe(false);
  });

  it.each(['(', '(?=a)', '(a)\\1'])('refuses %s', (text) => {
    expect(() => pattern(text)).toThrow('is not a regular expression');
  });
});
