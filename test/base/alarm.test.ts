import { describe, expect, it } from 'vitest';
import { learnedLeadNs } from '#base/alarm.ts';

describe('the lead of an alarm', () => {
  it('gets longer with each late wake-up, and shorter by less with each early one, within bounds', () => {
    expect(learnedLeadNs(1e5, 3e4)).toBeGreaterThan(1e5);
    expect(learnedLeadNs(1e5, -3e4)).toBeLessThan(1e5);
    expect(1e5 - learnedLeadNs(1e5, -3e4)).toBeLessThan(learnedLeadNs(1e5, 3e4) - 1e5);
    const settled = (lateNs: number): number =>
      Array.from({ length: 200 }).reduce<number>((lead) => learnedLeadNs(lead, lateNs), 1e5);
    expect(settled(3e4)).toBe(5e5);
    expect(settled(-1)).toBeGreaterThan(0);
  });

  it('stays as it was after a wake-up that no lead would have made punctual', () => {
    expect(learnedLeadNs(1e5, 3e6)).toBe(1e5);
  });
});
