import { describe, expect, it } from 'vitest';
import { describeAssignment } from '#study/summary/describe.ts';

describe('an assignment on one line', () => {
  it('names each model once', () => {
    expect(describeAssignment({})).toBe('the original config');
    expect(describeAssignment({ instances: 2, precision: 'FP16' })).toBe('instances=2 precision=FP16');
    const joint = { 'encoder/instances': 2, 'encoder/dynamic_batching': true, 'head/instances': 1 };
    expect(describeAssignment(joint)).toBe('encoder(instances=2 dynamic_batching=true) head(instances=1)');
  });
});
